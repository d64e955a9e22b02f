// Serves one GGUF file on loopback as chat completions, by llama.cpp in node-llama-cpp:
//   node serve.mjs FOLDER_WITH_NODE_MODULES MODEL PORT THREADS CONTEXT
// One request at a time, streams alone. GET /v1/models answers once the weights are loaded.

import http from "node:http";
import path from "node:path";
import { pathToFileURL } from "node:url";

import { grammar } from "./grammar.mjs";

const [folder, file, port, threads, context] = process.argv.slice(2);
const library = path.join(folder, "node_modules", "node-llama-cpp", "dist", "index.js");
const { getLlama, LlamaChat } = await import(pathToFileURL(library));

const FORMATS = new Set(["text", "json_object", "json_schema"]);
const STOPS = { functionCalls: "tool_calls", maxTokens: "length" };

class Refusal extends Error {
  constructor(message, type = "invalid_request_error", status = 400) {
    super(message);
    this.status = status;
    this.body = { error: { message, type, code: status } };
  }
}

const llama = await getLlama({ gpu: false, build: "never", maxThreads: Number(threads) });
const model = await llama.loadModel({ modelPath: file });
const session = await model.createContext({ contextSize: Number(context), threads: Number(threads) });
const chat = new LlamaChat({ contextSequence: session.getSequence() });
let turn = Promise.resolve();

http.createServer((request, response) => {
  if (request.method === "GET" && request.url === "/v1/models") {
    return send(response, 200, { object: "list", data: [{ id: path.basename(file), object: "model" }] });
  }
  if (request.method !== "POST" || request.url !== "/v1/chat/completions") {
    return send(response, 404, { error: { message: "not found" } });
  }
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    turn = turn.then(() => answer(Buffer.concat(pieces).toString("utf8"), response)).catch((error) => {
      console.error(error);
      if (response.headersSent) return response.destroy();
      const refused = error instanceof Refusal ? error : new Refusal(String(error?.message ?? error), "server_error", 500);
      send(response, refused.status, refused.body);
    });
  });
}).listen(Number(port), "127.0.0.1");

async function answer(text, response) {
  const body = checked(text);
  const history = body.messages.reduce(withMessage, []);
  const functions = Object.fromEntries((body.tools ?? []).map(({ function: { name, description, parameters } }) =>
    [name, { description, params: parameters }]));
  const given = body.tools && body.tool_choice !== "none" ? { functions } : {};
  const shape = body.response_format?.json_schema?.schema ?? body.response_format?.schema;
  const held = shape ? { grammar: await llama.createGrammar({ grammar: grammar(shape) }) } : given;
  const aborted = new AbortController();
  response.on("close", () => { if (!response.writableEnded) aborted.abort(); });
  const before = chat.sequence.tokenMeter.getState();
  const done = await chat.generateResponse(history, {
    ...held,
    temperature: body.temperature ?? 0,
    maxTokens: body.max_completion_tokens ?? body.max_tokens,
    signal: aborted.signal,
    stopOnAbortSignal: true,
    onTextChunk: (piece) => tell(response, { content: piece }),
  });
  const spent = chat.sequence.tokenMeter.diff(before);
  const calls = (done.functionCalls ?? []).map((call, index) => ({
    index, id: `call_${Date.now()}_${index}`, type: "function",
    function: { name: call.functionName, arguments: JSON.stringify(call.params ?? {}) },
  }));
  if (calls.length) tell(response, { tool_calls: calls });
  tell(response, {}, calls.length ? "tool_calls" : (STOPS[done.metadata.stopReason] ?? "stop"));
  const total = chat.sequence.nextTokenIndex;
  const asked = Math.max(0, total - spent.usedOutputTokens);
  const usage = {
    prompt_tokens: asked, completion_tokens: spent.usedOutputTokens, total_tokens: total,
    prompt_tokens_details: { cached_tokens: Math.max(0, asked - spent.usedInputTokens) },
  };
  response.write(`data: ${JSON.stringify({ ...shell(), choices: [], usage })}\n\ndata: [DONE]\n\n`);
  response.end();
}

// What calls came to is part of the model's own turn in the runtime's history.
function withMessage(history, message) {
  const words = message.content ?? "";
  if (message.role === "tool") {
    const call = history.flatMap((each) => each.response ?? []).find((each) => each.id === message.tool_call_id);
    if (!call) throw new Refusal("a message of role 'tool' must answer a preceding call");
    call.result = words;
    return history;
  }
  if (message.role !== "assistant") {
    return [...history, { type: message.role === "system" ? "system" : "user", text: words }];
  }
  const calls = (message.tool_calls ?? []).map((call, at) => ({
    type: "functionCall", id: call.id, name: call.function.name, params: JSON.parse(call.function.arguments),
    result: "", startsNewChunk: at === 0,
  }));
  const last = history.at(-1);
  const items = [...(words ? [words] : []), ...calls];
  if (last?.type === "model") return [...history.slice(0, -1), { type: "model", response: [...last.response, ...items] }];
  return [...history, { type: "model", response: items }];
}

function checked(text) {
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Refusal("the body is not JSON");
  }
  if (!Array.isArray(body.messages) || body.messages.length === 0) throw new Refusal("'messages' must be an array");
  if (body.stream !== true) throw new Refusal("only streams are served here");
  if (body.response_format && !FORMATS.has(body.response_format.type)) {
    throw new Refusal(`response_format type must be one of ${[...FORMATS].join(", ")}`);
  }
  const choice = body.tool_choice ?? "auto";
  if (choice !== "auto" && choice !== "none") throw new Refusal("tool_choice must be auto or none here");
  return body;
}

function shell() {
  return { id: "chatcmpl-1", object: "chat.completion.chunk", created: Math.floor(Date.now() / 1000), model: "small" };
}

function tell(response, delta, finish = null) {
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(`data: ${JSON.stringify({ ...shell(), choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
}

function send(response, status, body) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
