// A JSON Schema as a grammar of llama.cpp (GBNF): the keywords that toolcrib.llm.shapes leaves in. The runtime has a
// converter of its own, but its objects can't leave out what is optional, so that a model would have to make it up.

const BASE = `
ws ::= | " " | "\\n" [ \\t]{0,20}
char ::= [^"\\\\\\x7F\\x00-\\x1F] | "\\\\" (["\\\\/bfnrt] | "u" [0-9a-fA-F]{4})
string ::= "\\"" char* "\\""
integer ::= "-"? ([0-9] | [1-9] [0-9]{0,15})
number ::= integer ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,3})?
boolean ::= "true" | "false"
null ::= "null"
array ::= "[" ws (value ("," ws value)*)? ws "]"
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? ws "}"
value ::= string | number | boolean | null | array | object
date ::= "\\"" day "\\""
day ::= [0-9]{4} "-" [0-9]{2} "-" [0-9]{2}
time ::= "\\"" hour "\\""
hour ::= [0-9]{2} ":" [0-9]{2} (":" [0-9]{2})? ("Z" | [-+] [0-9]{2} ":" [0-9]{2})?
date-time ::= "\\"" day "T" hour "\\""
`;
const PLAIN = new Set(["string", "integer", "number", "boolean", "null"]);
const KNOWN = new Set([
  "type", "enum", "const", "properties", "required", "items", "additionalProperties", "anyOf", "allOf", "$ref", "$defs",
  "definitions", "minItems", "format",
]);

export function grammar(schema) {
  const rules = new Map();
  const named = new Map();
  const add = (body) => {
    const name = `r${rules.size}`;
    rules.set(name, body);
    return name;
  };
  const rule = (given) => {
    if (given === true || Object.keys(given).length === 0) return "value";
    const unknown = Object.keys(given).filter((keyword) => !KNOWN.has(keyword));
    if (unknown.length) throw new Error(`JSON schema conversion failed: unrecognized ${unknown.join(", ")}`);
    if (given.$ref) return reference(given.$ref);
    if ("const" in given) return literal(given.const);
    if (given.enum) return `(${given.enum.map(literal).join(" | ")})`;
    if (given.anyOf) return add(given.anyOf.map(rule).join(" | "));
    if (given.allOf) return rule(merged(given));
    if (Array.isArray(given.type)) return add(given.type.map((type) => rule({ ...given, type })).join(" | "));
    if (given.type === "array") return array(given);
    if (given.type === "object" || given.properties) return object(given);
    if (given.type === "string" && given.format) return given.format;
    return PLAIN.has(given.type) ? given.type : "value";
  };
  const reference = (path) => {
    if (!named.has(path)) {
      const name = `d${named.size}`;
      named.set(path, name); // before its body, which may refer to it again
      const steps = path.slice(2).split("/").map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
      const target = steps.reduce((at, step) => at?.[step], schema);
      if (target === undefined) throw new Error(`JSON schema conversion failed: ${path} is not there`);
      rules.set(name, rule(target));
    }
    return named.get(path);
  };
  const array = (given) => {
    const item = rule(given.items ?? {});
    const least = Math.min(given.minItems ?? 0, 16);
    const more = `("," ws ${item})`;
    return add(least ? `"[" ws ${item} ${more}{${least - 1},} ws "]"` : `"[" ws (${item} ${more}*)? ws "]"`);
  };
  const object = (given) => {
    const members = Object.entries(given.properties ?? {});
    if (members.length === 0) {
      const others = given.additionalProperties;
      if (!others || others === true) return others === false ? add('"{" ws "}"') : "object";
      const value = rule(others);
      return add(`"{" ws (string ":" ws ${value} ("," ws string ":" ws ${value})*)? ws "}"`);
    }
    const required = new Set(given.required ?? []);
    const pair = ([name, value]) => `${literal(name)} ":" ws ${rule(value)}`;
    const fixed = members.filter(([name]) => required.has(name)).map(pair);
    const free = members.filter(([name]) => !required.has(name)).map(pair);
    const after = (pairs) => pairs.map((each) => `("," ws ${each})?`).join(" ");
    const inside = fixed.length
      ? `${fixed.join(' "," ws ')} ${after(free)}`
      : `(${free.map((each, at) => `${each} ${after(free.slice(at + 1))}`).join(" | ")})?`;
    return add(`"{" ws ${inside} ws "}"`);
  };
  const merged = (given) =>
    [given, ...given.allOf].reduce((all, each) => ({
      ...all, ...each, allOf: undefined,
      properties: { ...all.properties, ...each.properties },
      required: [...(all.required ?? []), ...(each.required ?? [])],
    }), {});
  const root = rule(schema);
  const lines = [...rules].map(([name, body]) => `${name} ::= ${body}`);
  return [`root ::= ${root}`, ...lines, BASE.trim(), ""].join("\n");
}

function literal(value) {
  return JSON.stringify(JSON.stringify(value));
}
