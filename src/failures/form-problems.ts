/** The part of the failure catalogue that only the form routes return (reference §4.7). */
import { bounds } from '../forms/bounds.ts';
import type { RouteName } from '../routes.ts';
import { on, type Problem } from './problem.ts';
import type { BodyRefusal, FormRefusal } from './refusals.ts';

export const FORMS: readonly RouteName[] = ['submitLead', 'subscribeNewsletter'];

const form = on(FORMS, '§4.7');
const lead = on(['submitLead'], '§4.4');
const bound = on(['submitLead'], '§4.6');

/** A widget on another site's page adds its own fields to the form (reference §4.6). */
const UNKNOWN_FIELDS = 'The limit also applies to unknown fields.';

export const formProblems = {
  submissionsNotConfigured: form(503, 'This site can’t accept this form right now. Nothing was sent.'),
  contentType: on(FORMS, '§4.1')(
    400,
    'Send the form as application/json, application/x-www-form-urlencoded or multipart/form-data.',
  ),
  malformedForm: form(400, 'The form could not be read.'),
  notText: lead(400, 'Every value must be a string in one flat object.'),
  fileUpload: lead(400, 'Files are not accepted.'),
  tooManyFields: bound(400, `A form has at most ${bounds.fieldsPerRequest} fields. ${UNKNOWN_FIELDS}`),
  nameTooLong: bound(400, `A field name has at most ${bounds.fieldNameLength} characters.`),
  valueTooLong: bound(413, `A value is longer than ${bounds.valueLength} characters. ${UNKNOWN_FIELDS}`),
  invalidForm: form(400, 'Some fields are missing or not valid.'),
  missingConsent: on(['subscribeNewsletter'], '§2.8')(400, 'The consent to the privacy notice is missing.'),
  kept: form(
    502,
    'We stored your submission and will deliver it. Its delivery is not confirmed yet. You don’t need to send it again.',
  ),
  left: form(
    502,
    'We could not deliver your submission, but the site operator has it. You don’t need to send it again.',
  ),
  subscriptionNotKept: on(['subscribeNewsletter'], '§4.7')(503, 'We can’t store your subscription right now.', {
    route: 'Please wait {wait}, then try again.',
    waitSeconds: 60,
  }),
  unconfirmed: form(502, 'We could not confirm that your submission arrived. Please try again.'),
  unsent: form(502, 'We could not deliver your submission. Nothing was sent. Please try again.'),
} satisfies Record<Exclude<FormRefusal, BodyRefusal>['kind'], Problem>;
