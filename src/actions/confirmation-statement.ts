/** The exact text a person agrees to, and an execution repeats character for character (spec §4.5). */
export const CONFIRMATION_STATEMENT =
  'I confirm that Service may use these details for the selected action.';
