/** The version of the API, which the manifest and OpenAPI carry (spec §9). */
export const API_VERSION = '2026-09-01';
