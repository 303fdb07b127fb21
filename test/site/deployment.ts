import type { SiteSettings } from '../../src/site/placeholders.ts';

/** Settings of a deployment in production with everything that its pages show. */
export const deployment: SiteSettings = {
  mode: 'production',
  mcp: 'on',
  oauth: 'on',
  upstream: { kind: 'inbox' },
  mail: { kind: 'files', folder: 'mail', from: 'hello@paint.example' },
  previewSigningKeys: [Buffer.alloc(32)],
  baseUrl: 'https://paint.example',
  operator: { name: 'Fair Coat', contact: 'help@paint.example' },
  contractor: { id: 'c-1', name: 'Sample Painting Company' },
  receiptRetentionDays: 123,
  submissionRetentionDays: 45,
};
