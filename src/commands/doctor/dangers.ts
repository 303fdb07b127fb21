/** Settings that work and that hardly anybody means: the doctor warns of them. */
import { statSync } from 'node:fs';
import type { Settings } from '../../settings/settings.ts';
import type { Danger } from './finding.ts';

/** Any access of others, and writing by the group: a group may be let in to read. */
const TOO_OPEN = 0o027;
/** What Standard Webhooks asks of a secret. */
const STANDARD_SECRET_BYTES = 24;
const THIS_MACHINE = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** Takes the settings; what a receiver, or whoever listens on the way, could do to what is forwarded. */
export function upstreamDangers({ mode, upstream }: Settings): Danger[] {
  if (upstream.kind !== 'http') return [];
  const dangers: Danger[] = [];
  if (upstream.secret === undefined) {
    const remedy = 'Set UPSTREAM_SECRET, so that the other side can tell who sends.';
    dangers.push({ says: 'What is sent is unsigned.', remedy });
  } else if (upstream.secret.length < STANDARD_SECRET_BYTES) {
    const remedy = `Make one of at least ${STANDARD_SECRET_BYTES} bytes: echo "whsec_$(openssl rand -base64 32)"`;
    dangers.push({ says: 'UPSTREAM_SECRET is short.', remedy });
  }
  const { protocol, hostname } = new URL(upstream.url);
  if (mode === 'production' && protocol === 'http:' && !THIS_MACHINE.test(hostname)) {
    const remedy = 'Set UPSTREAM_URL to an https: address.';
    dangers.push({ says: 'What people write is not encrypted on its way.', remedy });
  }
  return dangers;
}

/** Takes where mail goes: STARTTLS is used where it is offered, and whoever is in between can take the offer away. */
export function mailDangers({ mail }: Pick<Settings, 'mail'>): Danger[] {
  if (mail.kind !== 'smtp') return [];
  const { protocol, hostname, password, searchParams } = new URL(mail.url);
  const isOn = (name: string) => /^(true|1)$/.test(searchParams.get(name) ?? '');
  const isEncrypted = protocol === 'smtps:' || (isOn('requireTLS') && !isOn('ignoreTLS'));
  if (password === '' || isEncrypted || THIS_MACHINE.test(hostname)) return [];
  const remedy = 'Write smtps:// in SMTP_URL, or ?requireTLS=true at its end.';
  return [{ says: 'The password may be sent without TLS.', remedy }];
}

/** Takes the settings: this service speaks HTTP alone, so an https address means that a proxy is in front. */
export function proxyDangers({ mode, baseUrl, trustProxy }: Settings): Danger[] {
  if (mode === 'local' || !baseUrl.startsWith('https:') || trustProxy.length > 0) return [];
  const remedy = 'Set TRUST_PROXY to the addresses of the proxy: TRUST_PROXY=127.0.0.1';
  return [{ says: 'Behind a proxy all people share one limit.', remedy }];
}

/** Takes the settings: who people are told that they deal with. */
export function operatorDangers({ mode, operator }: Settings): Danger[] {
  if (mode === 'local') return [];
  const dangers: Danger[] = [];
  if (operator.name === 'Service') {
    const says = 'Pages and messages call the operator “Service”.';
    dangers.push({ says, remedy: 'Set OPERATOR_NAME.' });
  }
  if (operator.contact === undefined) {
    const says = 'Where something failed, people are shown no contact.';
    dangers.push({ says, remedy: 'Set OPERATOR_CONTACT.' });
  }
  return dangers;
}

/** Takes the path of a file or folder, which need not be there. */
export function accessDangers(path: string): Danger[] {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & TOO_OPEN) === 0) return [];
  return [{ says: `To ${path} others have access.`, remedy: `chmod o-rwx,g-w ${path}` }];
}
