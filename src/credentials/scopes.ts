/** What a credential may be issued for (spec §5): the scope that each of the two calls needs. */
export const scopeOf = { preview: 'lead:preview', execute: 'lead:create' } as const;

export type Scope = (typeof scopeOf)[keyof typeof scopeOf];

export const SCOPES: readonly Scope[] = Object.values(scopeOf);
