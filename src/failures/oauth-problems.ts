/**
 * The part of the failure catalogue for OAuth (reference §26). The codes are those of RFC 6749, 7009 and 8707. A host
 * reads them, so they have no next step for a person.
 */
import type { RouteName } from '../routes.ts';
import { on, type Problem } from './problem.ts';
import type { ConnectRefusal, OauthRefusal } from './refusals.ts';

const TOKENS: readonly RouteName[] = ['requestToken', 'revokeToken'];
const PAGE: readonly RouteName[] = ['authorizePage', 'pressAuthorize'];

const token = on(['requestToken'], '§26.6');
const redirected = on(PAGE, '§26.4');
const both = on([...PAGE, ...TOKENS], '§26.6');
const page = on(PAGE, '§26.4');
const button = on(['pressAuthorize'], '§26.4');

const OTHER_LINK = 'Start again in your assistant.';
const NOTHING = 'Nothing was connected.';

export const oauthProblems = {
  oauthRequest: both(400, 'A parameter is missing, repeated or invalid.', { errorCode: 'invalid_request' }),
  oauthResponseType: redirected(400, 'Only the response type code is supported.', {
    errorCode: 'unsupported_response_type',
  }),
  oauthScope: both(400, 'The client has none of the requested scopes.', { errorCode: 'invalid_scope' }),
  oauthTarget: both(400, 'The parameter resource must be the address of the tools.', { errorCode: 'invalid_target' }),
  oauthDenied: redirected(400, 'The person did not connect the host.', { errorCode: 'access_denied' }),
  oauthClient: on(TOKENS, '§26.6')(401, 'The client is unknown, or its secret is wrong.', {
    errorCode: 'invalid_client',
  }),
  oauthGrant: token(400, 'The code or the refresh token is invalid, expired or used.', { errorCode: 'invalid_grant' }),
  oauthGrantType: token(400, 'Only authorization_code and refresh_token are supported.', {
    errorCode: 'unsupported_grant_type',
  }),
} satisfies Record<OauthRefusal['kind'], Problem>;

/** Refusals on the page on which a person connects a host. */
export const connectProblems = {
  connectTooOften: page(429, 'You tried too often.', { page: `${NOTHING} Wait {wait}, then try again.` }),
  unknownHost: page(400, 'We don’t know the program that sent you here.', {
    page: `${NOTHING} Ask the site operator.`,
  }),
  unknownReturn: page(400, 'The program that sent you here may not get an answer at its address.', {
    page: `${NOTHING} Ask the site operator.`,
  }),
  connectFromElsewhere: button(403, 'This request did not come from our page.', {
    page: `${NOTHING} ${OTHER_LINK}`,
  }),
  connectByAgent: button(403, 'Only a person can connect an assistant.', {
    page: `${NOTHING} Open the page in your own browser.`,
  }),
  connectButton: button(400, 'This page has no such button.', { page: `${NOTHING} ${OTHER_LINK}` }),
  wrongToken: button(403, 'This token is wrong or expired.', {
    page: `${NOTHING} Enter the token that the operator gave you.`,
  }),
  tokenTooOften: button(429, 'Too many wrong tokens were entered.', {
    page: `${NOTHING} Wait {wait}, then start again in your assistant.`,
  }),
  connectUnknown: page(503, 'We can’t connect an assistant right now.', { page: `${NOTHING} ${OTHER_LINK}` }),
} satisfies Record<ConnectRefusal['kind'], Problem>;
