/** The two metadata documents of OAuth (reference §26.3). */
import { SCOPES } from '../credentials/clients.ts';
import { issuerPath, pages, routes } from '../routes.ts';

type Facts = { baseUrl: string; operatorName: string };

/** Returns the metadata of the tools as a protected resource (RFC 9728). */
export function resourceMetadata({ baseUrl, operatorName }: Facts) {
  return {
    resource: baseUrl + routes.connect.path,
    authorization_servers: [baseUrl + issuerPath],
    scopes_supported: SCOPES,
    bearer_methods_supported: ['header'],
    resource_name: operatorName,
    resource_documentation: baseUrl + pages.agents.path,
  };
}

/** Returns the metadata of the issuer of tokens (RFC 8414). */
export function issuerMetadata({ baseUrl }: Facts) {
  const methods = ['client_secret_basic', 'client_secret_post', 'none'];
  return {
    issuer: baseUrl + issuerPath,
    authorization_endpoint: baseUrl + routes.authorizePage.path,
    token_endpoint: baseUrl + routes.requestToken.path,
    revocation_endpoint: baseUrl + routes.revokeToken.path,
    scopes_supported: SCOPES,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_methods_supported: methods,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    service_documentation: baseUrl + pages.agents.path,
  };
}
