/** The documented operations: what each is called, and the group it belongs to. */
export type Tag = 'Discovery' | 'Actions' | 'Forms';

const table = {
  getWellKnownManifest: { tag: 'Discovery', summary: 'Get the manifest at its well-known address' },
  getManifest: { tag: 'Discovery', summary: 'Get the agent manifest' },
  listContent: { tag: 'Discovery', summary: 'List the content, or get one resource' },
  getLlmsText: { tag: 'Discovery', summary: 'Get llms.txt' },
  getOpenapiDocument: { tag: 'Discovery', summary: 'Get this document' },
  previewAction: { tag: 'Actions', summary: 'Preview an action' },
  executeAction: { tag: 'Actions', summary: 'Execute a confirmed action' },
  submitLead: { tag: 'Forms', summary: 'Submit a form from a browser' },
  subscribeNewsletter: { tag: 'Forms', summary: 'Subscribe from a browser' },
} as const satisfies Record<string, { tag: Tag; summary: string }>;

export type OperationId = keyof typeof table;

export const operationTable: Readonly<Record<OperationId, { tag: Tag; summary: string }>> = table;

/** What an operation says of itself; its failures are added from the failure catalogue. */
export type Described = {
  description: string;
  /** Explicit everywhere: empty on a public route (spec §5). */
  security: object[];
  parameters?: object[];
  requestBody?: object;
  responses: Record<string, object>;
  'x-openai-isConsequential'?: boolean;
};
