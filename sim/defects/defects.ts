/** All defects. Each invariant has defects that break it. */
import type { Defect } from './defect.ts';
import { defectsOfConfirmations } from './of-confirmations.ts';
import { defectsOfHosts } from './of-hosts.ts';
import { defectsOfMessages } from './of-messages.ts';
import { defectsOfOperators } from './of-operators.ts';
import { defectsOfPersons } from './of-persons.ts';
import { defectsOfSubmissions } from './of-submissions.ts';
import { defectsOfSubscribers } from './of-subscribers.ts';
import { defectsOfTheChains } from './of-the-chains.ts';
import { defectsOfTheStore } from './of-the-store.ts';

export const defects: readonly Defect[] = [
  ...defectsOfTheChains,
  ...defectsOfTheStore,
  ...defectsOfMessages,
  ...defectsOfSubmissions,
  ...defectsOfConfirmations,
  ...defectsOfSubscribers,
  ...defectsOfOperators,
  ...defectsOfHosts,
  ...defectsOfPersons,
];
