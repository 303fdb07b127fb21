/** Types of the tables for OAuth (reference §26.9). Times are on the process's wall clock. */

/**
 * A connection of a host, from the button "Connect" on. Its code, its refresh tokens and its access tokens are one
 * family, which ends when the row is deleted.
 */
export type OauthConnectionRow = {
  id: string;
  /** Name of the client in the credentials file. */
  client: string;
  /** The `client_id` of the host: the name of the client, or the address of a metadata document. */
  client_id: string;
  /** Name of the host that people see. */
  host: string;
  redirect_uri: string;
  /** Granted scopes, separated by blanks. */
  scope: string;
  /** SHA-256 of the operator's token to which the connection is bound, in hex. Null until a named client used one. */
  credential: string | null;
  /** SHA-256 of the code, in hex. It remains after the use of the code, so that a second use ends the connection. */
  code_digest: string;
  code_expires_at: string;
  /** `code_challenge` of the authorization request (S256). */
  challenge: string;
  /** SHA-256 of the first part of every refresh token, in hex. Null until the code is used, like the next four. */
  family_digest: string | null;
  /** SHA-256 of the second part of the current refresh token, in hex. */
  refresh_digest: string | null;
  refresh_expires_at: string | null;
  connected_at: string | null;
  /** Time of the last request, accurate to a minute. */
  last_used_at: string | null;
};

/** An access token. It is valid only while its connection exists. */
type OauthAccessTokenRow = {
  /** SHA-256 of the token, in hex. */
  digest: string;
  /** Id of the connection. */
  connection: string;
  scope: string;
  expires_at: string;
};

export type OauthTables = {
  oauth_access_tokens: OauthAccessTokenRow;
  oauth_connections: OauthConnectionRow;
};
