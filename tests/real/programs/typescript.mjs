// A client on one of the TypeScript SDKs: `node --input-type=module - PACKAGE PLAN < typescript.mjs`, in the folder
// where the packages are installed. It does what the plan says, and prints what came back as one JSON document.
import process from "node:process";

const [, , name, plan] = process.argv;
const { target, calls } = JSON.parse(plan);
const client = { name: "typescript", version: "1" };

async function loaded() {
  if (name === "@modelcontextprotocol/sdk") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    return { Client, StdioClientTransport, StreamableHTTPClientTransport, call: (c, p, o) => c.callTool(p, undefined, o) };
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  return { Client, StdioClientTransport, StreamableHTTPClientTransport, call: (c, p, o) => c.callTool(p, o) };
}

const sdk = await loaded();
const transport = target.url
  ? new sdk.StreamableHTTPClientTransport(new URL(target.url))
  : new sdk.StdioClientTransport({ command: target.command, args: target.args, env: target.env, stderr: "ignore" });
const connected = new sdk.Client(client);
await connected.connect(transport);
const tools = (await connected.listTools()).tools.map((tool) => tool.name);
const results = {};
const progress = [];
for (const [key, [tool, args]] of Object.entries(calls)) {
  const onprogress = (each) => progress.push([each.progress, each.total]);
  const options = key === "steps" ? { onprogress } : {};
  results[key] = await sdk.call(connected, { name: tool, arguments: args }, options);
}
await connected.close();
console.log(JSON.stringify({ tools, results, progress }));
