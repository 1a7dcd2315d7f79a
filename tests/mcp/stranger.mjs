// The TypeScript SDK as a client: lists the tools and calls them, over stdio and over HTTP. Prints one JSON document.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const given = JSON.parse(process.argv[2]);
const transport = given.url
  ? new StreamableHTTPClientTransport(new URL(given.url), {
      requestInit: { headers: { Authorization: `Bearer ${given.token}` } },
    })
  : new StdioClientTransport({ command: given.command, args: given.args, env: given.env });
const client = new Client({ name: "stranger", version: "1" }, given.options ?? {});
await client.connect(transport);

const { tools } = await client.listTools();
const called = {};
for (const [name, args] of given.calls) {
  const result = await client.callTool({ name, arguments: args });
  called[name] = result.isError ? result.content[0].text : result.structuredContent;
}
const asked = called.flux_retrieve;
const vote = await client.callTool({
  name: "flux_feedback",
  arguments: { trace_id: asked.trace_id, grain_id: asked.grains[0].id, useful: true },
});
called.flux_feedback = vote.structuredContent;
const revision = client.getNegotiatedProtocolVersion();
console.log(JSON.stringify({ revision, tools: tools.map((tool) => tool.name), called }));
await client.close();
