/** Clicks after a restart of the service without settings that the confirmation needs (reference §6.8). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startService } from '../support/service.ts';
import { openPage, pending, pressButton } from './rig.ts';

const NEWSLETTER = { action: 'newsletter', fields: { email: 'fewer@example.com' } };

test.each([
  ['the upstream', 'send', { UPSTREAM_URL: '' }, {}],
  ['the mail server', 'code', { SMTP_URL: '', MAIL_FROM: '' }, { ...NEWSLETTER, via: 'page_email' }],
])('without %s, a click on %s gets 503 and sends nothing', async (_what, button, environment, asked) => {
  const folder = mkdtempSync(join(tmpdir(), 'fewer-settings-'));
  const before = await startService({ folder });
  const { path, id } = await pending(before, asked);
  await before.close();
  const service = await startService({ folder, environment });
  try {
    expect((await openPage(service, path)).status).toBe(200);
    const { status, text } = await pressButton(service, path, button);
    expect([status, text]).toEqual([503, expect.stringContaining('This site can’t send anything right now.')]);
    expect((await openPage(service, path)).text).toContain('value="decline"');
    const rows = await service.parts.storage.read((db) =>
      db.selectFrom('executions').select('status').where('action_id', '=', id),
    );
    expect(rows).toEqual([{ status: 'asked' }]);
  } finally {
    await service.close();
    rmSync(folder, { recursive: true });
  }
});
