// A host with MCP Apps in a browser, built with the libraries of others: the official client and its bridge for cards.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { AppBridge, getToolUiResourceUri, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

/** What the host saw: calls of tools by the card, opened links, messages for the model, other messages, the heights. */
const seen = { calls: [], links: [], contexts: [], initialized: 0, heights: [] };
window.seen = seen;

/** Connects to the service, calls a preview tool and shows its card. */
window.showCard = async ({ address, token, revision, tool, fields, theme, declares = true, links = true }) => {
  const ui = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
  const capabilities = declares ? { extensions: ui } : {};
  const versionNegotiation = { mode: revision === '2026-07-28' ? 'auto' : 'legacy' };
  const client = new Client({ name: 'host', version: '1.0.0' }, { capabilities, versionNegotiation });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(address), { requestInit }));
  seen.revision = client.getNegotiatedProtocolVersion();

  const { tools } = await client.listTools();
  const uri = getToolUiResourceUri(tools.find(({ name }) => name === tool));
  const [{ text: html }] = (await client.readResource({ uri })).contents;
  const frame = document.createElement('iframe');
  // No `allow-same-origin`: the card has no origin, no storage and no cookies.
  frame.setAttribute('sandbox', 'allow-scripts');
  document.body.append(frame);

  const bridge = new AppBridge(
    null,
    { name: 'host', version: '1.0.0' },
    { serverTools: {}, updateModelContext: {}, ...(links && { openLinks: {} }) },
    { hostContext: { theme } },
  );
  const initialized = new Promise((resolve) => {
    bridge.oninitialized = () => {
      seen.initialized += 1;
      resolve();
    };
  });
  bridge.onsizechange = ({ height }) => {
    seen.heights.push(height);
    frame.style.height = `${height}px`;
  };
  bridge.onopenlink = async ({ url }) => {
    seen.links.push(url);
    return links ? {} : { isError: true };
  };
  bridge.onupdatemodelcontext = async ({ content }) => {
    seen.contexts.push(content);
    return {};
  };
  bridge.oncalltool = async (params) => {
    seen.calls.push(params);
    await window.beforeCall?.();
    return await client.callTool(params);
  };
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = html;
  await initialized;
  bridge.sendToolInput({ arguments: fields });
  const result = await client.callTool({ name: tool, arguments: fields });
  bridge.sendToolResult(result);
  window.bridge = bridge;
  return result;
};
