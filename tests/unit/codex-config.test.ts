/** What Kite has in Codex's config.toml: added behind all else, and taken out again. */
import { describe, expect, test } from "vitest";
import {
  addServer,
  hasServer,
  hasTrust,
  removeServer,
  removeTrust,
  tablesOf,
} from "../../hooks/install/codex.ts";

const bin = "/home/ana/.kite/bin";
const program = `${bin}/mcp`;
const block = `[mcp_servers.kite]\ncommand = "${program}"\n`;

/** Texts as people and the client leave them. */
const texts: Readonly<Record<string, string>> = {
  empty: "",
  "comments alone": "# mine\n",
  settings:
    '# mine\nmodel = "gpt-5.5" # the model\n\n[mcp_servers]\n# docs\n[mcp_servers."docs"]\ncommand = \'docs\'\n',
  "a byte order mark and CRLF": '\uFEFFmodel = "x"\r\n[a]\r\nb = 1\r\n',
  "a header's form in a list": 'args = [\n  ["a"],\n  [\n    "mcp_servers.kite" ]\n]\n[other]\nx = 1\n',
  "a header's form in texts":
    'a = """\n[mcp_servers.kite]\n\\"""\n"""\nb = \'\'\'\n[mcp_servers.kite]\n\'\'\'\nc = "\\"["\n[d]\n',
  "lists of tables": "[[mcp]]\na = { b = [1, { c = 2 }] }\n[[mcp]]\n",
  "a comment with brackets and quotes": "# it's \"[\nx = 1 # it's [\n[y]\n",
};

describe("the server of Kite's tools", () => {
  test.each(Object.keys(texts))("is added behind %s, and taken out to the byte", name => {
    const text = texts[name] ?? "";
    const eol = text.includes("\r\n") ? "\r\n" : "\n";
    const added = addServer(text, program, bin);
    expect(added).toBe(text + (text === "" ? "" : eol) + block.replaceAll("\n", eol));
    expect(hasServer(text, bin)).toBe(false);
    expect(hasServer(added, bin)).toBe(true);
    expect(addServer(added, program, bin)).toBe(added);
    expect(removeServer(added, bin)).toBe(text);
  });

  test("is put right where Kite's folder was another", () => {
    const old = `x = 1\n\n[mcp_servers.kite]\ncommand = "${bin}/old"\nargs = ["mcp"]\n`;
    expect(addServer(old, program, bin)).toBe(`x = 1\n\n${block}`);
  });

  test("goes with what the client keeps below it, and leaves the comments of what follows", () => {
    const text = `x = 1\n\n${block}\n[mcp_servers.kite.tools.kite_lock]\napproval_mode = "approve"\n\n# mine\n[other]\ny = 1\n`;
    expect(removeServer(text, bin)).toBe("x = 1\n\n# mine\n[other]\ny = 1\n");
  });

  test.each([
    ["another one has the name", '[mcp_servers.kite]\ncommand = "other"\n', "another kind"],
    ["the servers stand in braces", 'mcp_servers = { docs = { command = "x" } }\n', "in a form"],
    ["one stands with a dotted key", 'mcp_servers.kite.command = "x"\n', "in a form"],
    ["the name stands in the servers' table", '[mcp_servers]\nkite = { command = "x" }\n', "in a form"],
    ["a list is not closed", "x = [1,\n[a]\n", "no valid TOML"],
    ["a text is not closed", 'x = """\n[a]\n', "no valid TOML"],
  ])("is refused where %s", (_what, text, why) => {
    expect(() => addServer(text, program, bin)).toThrow(why);
  });
});

test("the client's notes on its trust go by their keys, with the table around them once it is empty", () => {
  const note = (key: string) => `[hooks.state."${key}"]\ntrusted_hash = "sha256:1"\n`;
  const text = `x = 1\n\n[hooks.state]\n\n${note("/h/hooks.json:stop:0:0")}\n${note("/h/hooks.json:stop:1:0")}`;
  const mine = (key: string) => key.endsWith(":1:0");
  expect(removeTrust(text, mine)).toBe(`x = 1\n\n[hooks.state]\n\n${note("/h/hooks.json:stop:0:0")}`);
  expect(removeTrust(text, () => true)).toBe("x = 1\n");
  expect(removeTrust(text, () => false)).toBe(text);
  expect(hasTrust(text, ["/h/hooks.json:stop:0:0"])).toBe(true);
  expect(hasTrust(text, ["/h/hooks.json:stop:0:9"])).toBe(false);
});

test("a table's name is read in each of its forms", () => {
  const text = '[a."b.c".\'d\'] # e\n  [ f . g ]\n[[h]]\n["i\\"j"]\n';
  expect(tablesOf(text).map(({ path }) => path)).toEqual([["a", "b.c", "d"], ["f", "g"], ["h"], ['i"j']]);
});
