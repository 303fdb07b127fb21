/** Which function answers which path (`visit.ts` says how a further page is added). */
import type { ConsoleRoute } from '../routes.ts';
import { agentsPage } from './agents-page.ts';
import { auditPage } from './audit-page.ts';
import { confirmationsPage } from './confirmations-page.ts';
import { leadsCsv, leadsJsonl } from './exports.ts';
import { changeLead, leadPage } from './lead.ts';
import { leadsPage } from './leads.ts';
import { changeMessage, messagesPage } from './messages-page.ts';
import { overviewPage } from './overview.ts';
import { deletePerson, personPage } from './person.ts';
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
  operatorPerson: { look: personPage, takesAway: ({ query }) => query.has('export') },
  changePerson: { change: deletePerson, takesAway: always },
  operatorAgents: { look: agentsPage },
  operatorConfirmations: { look: confirmationsPage },
  operatorSubscribers: { look: subscribersPage },
  operatorMessages: { look: messagesPage },
  changeMessage: { change: changeMessage },
  operatorAudit: { look: auditPage },
};
