/** Which function answers which path (`visit.ts` says how a further page is added). */
import type { ConsoleRoute } from '../routes.ts';
import { auditPage } from './audit-page.ts';
import { leadsCsv, leadsJsonl } from './exports.ts';
import { changeLead, leadPage } from './lead.ts';
import { leadsPage } from './leads.ts';
import { overviewPage } from './overview.ts';
import { subscribersPage } from './subscribers.ts';
import type { ConsolePage } from './visit.ts';

const always = () => true;

export const consolePages: Readonly<Record<ConsoleRoute, ConsolePage>> = {
  operatorPage: { look: overviewPage },
  // The chain itself ends the session.
  signOut: {},
  operatorLeads: { look: leadsPage },
  operatorLeadsCsv: { look: leadsCsv, takesAway: always },
  operatorLeadsJsonl: { look: leadsJsonl, takesAway: always },
  operatorLead: { look: leadPage },
  changeLead: { change: changeLead },
  // To export is GET with `?export`, to delete is POST.
  operatorPerson: { takesAway: ({ query }) => query.has('export') },
  changePerson: { takesAway: always },
  operatorAgents: {},
  operatorConfirmations: {},
  operatorSubscribers: { look: subscribersPage },
  operatorMessages: {},
  changeMessage: {},
  operatorAudit: { look: auditPage },
};
