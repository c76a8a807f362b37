/** Clients whose hooks are in files of their own or in a file of settings, connected and taken out again as a person does it. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { copilotHooks } from "../../hooks/install/copilot.ts";
import { geminiEntries } from "../../hooks/install/gemini.ts";
import { pluginMark } from "../../hooks/install/opencode.ts";
import { Home } from "./daemon.ts";

let home: Home;
let root: string;
let env: Record<string, string>;

beforeEach(() => {
  home = new Home({ kite: ".kite" });
  root = home.root;
  env = { HOME: root, PATH: `${dirname(process.execPath)}:/usr/bin:/bin` };
});
afterEach(() => home.dispose());

const kite = (...args: string[]) => home.kiteIn(env, ...args);
/** The same with Kite's home where it usually is. */
const usual = () => ({ ...env, KITE_HOME: "" });
const text = (file: string) => readFileSync(join(root, file), "utf8");

/** Every file below the home but Kite's own, with its text. */
function files(folder = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(join(root, folder))) {
    const path = join(folder, name);
    if ([".kite", "work"].includes(path)) continue;
    if (statSync(join(root, path)).isDirectory()) Object.assign(found, files(path));
    else found[path] = text(path);
  }
  return found;
}

function put(file: string, content: string): void {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), content, { mode: 0o600 });
}

const server = () => join(root, ".kite", "bin", "mcp");

interface Row {
  readonly client: string;
  readonly hooks: string;
  readonly tools: string;
  /** What the file with the tools holds of Kite's. */
  readonly entry: () => object;
  /** The file with the hooks as another version wrote it. */
  readonly older: (now: string) => string;
}

const rows: readonly Row[] = [
  {
    client: "opencode",
    hooks: ".config/opencode/plugins/kite.js",
    tools: ".config/opencode/opencode.json",
    older: now => `${now}// more\n`,
    entry: () => ({ mcp: { kite: { type: "local", command: [server()], enabled: true } } }),
  },
  {
    client: "copilot",
    hooks: ".copilot/hooks/kite.json",
    tools: ".copilot/mcp-config.json",
    older: now => now.replace('"timeoutSec": 30', '"timeoutSec": 31'),
    entry: () => ({ mcpServers: { kite: { type: "local", command: server(), args: [], tools: ["*"] } } }),
  },
  {
    client: "gemini",
    hooks: ".gemini/settings.json",
    tools: ".gemini/settings.json",
    older: now => now.replace('"timeout": 30000', '"timeout": 31000'),
    entry: () => ({ mcpServers: { kite: { command: server() } } }),
  },
];

describe.each(rows)("kite install --client $client", ({ client, hooks, tools, entry, older }) => {
  it("makes the files for a new user, is content with them, and takes all away again", async () => {
    const said = await kite("install", "--client", client);
    expect(said).toContain(`installed: ${join(root, hooks)}\n`);
    expect(said).toContain(`undo: kite uninstall --client ${client}\n`);
    expect(JSON.parse(text(tools))).toMatchObject(entry());
    expect(Object.keys(files()).sort()).toEqual([...new Set([hooks, tools])].sort());
    expect(await kite("install", "--client", client)).toContain("nothing changed");
    const doctor = JSON.parse((await home.command(["doctor", "--json"], usual())).out);
    const check = doctor.checks.find((one: { check: string }) => one.check === client);
    expect(check).toMatchObject({ result: "ok", detail: expect.stringContaining(join(root, hooks)) });
    const gone = await kite("uninstall", "--client", client);
    expect(gone).toContain(`removed: ${join(root, hooks)}\n`);
    expect(files()).toEqual({});
    expect(existsSync(join(root, ".kite", "bin"))).toBe(false);
  });

  it.each([
    [
      "pretty",
      `${JSON.stringify({ theme: "dark", mcp: { other: { type: "local" } }, list: [1, 2] }, null, 4)}\n`,
    ],
    ["one line", '{"theme":"dark","mcpServers":{"other":{"command":"x"}}}'],
    ["with a byte order mark and CRLF", '\uFEFF{\r\n\t"theme": "dark"\r\n}\r\n'],
  ])("leaves settings that are there to the byte: %s", async (_, before) => {
    put(tools, before);
    await kite("install", "--client", client);
    await kite("install", "--client", client);
    expect(text(tools)).toContain('"theme"');
    expect(JSON.parse(text(tools).replace(/^\uFEFF/, ""))).toMatchObject(entry());
    await kite("uninstall");
    expect(files()).toEqual({ [tools]: before });
    expect(statSync(join(root, tools)).mode & 0o777).toBe(0o600);
  });

  it("takes out only what is Kite's where others wrote meanwhile", async () => {
    put(tools, '{\n  "theme": "dark"\n}\n');
    await kite("install", "--client", client);
    put(tools, text(tools).replace('"dark"', '"light"'));
    await kite("uninstall", "--client", client);
    expect(files()).toEqual({ [tools]: '{\n  "theme": "light"\n}\n' });
  });

  it("says why it changes nothing where the settings cannot be read, and connects the rest", async () => {
    put(tools, '{"theme": ');
    const ran = await home.command(["install", "--client", client], usual());
    expect(ran.out + ran.err).toContain("not valid JSON");
    expect(text(tools)).toBe('{"theme": ');
  });

  it("is told by kite doctor and kite update where its entries are another version's, and put right", async () => {
    await kite("install", "--client", client);
    const now = text(hooks);
    put(hooks, older(now));
    expect(text(hooks)).not.toBe(now);
    const doctor = JSON.parse((await home.command(["doctor", "--json"], usual())).out);
    expect(doctor.checks.find((one: { check: string }) => one.check === client)).toMatchObject({
      result: "fail",
      detail: expect.stringContaining("not those of this version"),
    });
    const update = await home.command(["update"], usual());
    expect(update.out).toContain(`kite install --client ${client}`);
    await kite("install", "--client", client);
    expect(text(hooks)).toBe(now);
    expect((await home.command(["update"], usual())).out).not.toContain(`--client ${client}`);
  });

  it("--print names every file that an install would write, and writes none", async () => {
    const said = (await home.command(["install", "--client", client, "--print"], usual())).err;
    expect(files()).toEqual({});
    await kite("install", "--client", client);
    const own = readdirSync(join(root, ".kite", "bin")).map(name => join(root, ".kite", "bin", name));
    for (const file of [...new Set([hooks, tools])].map(name => join(root, name)).concat(own))
      expect(said).toContain(file);
  });
});

describe("a file of another program in the place of Kite's own", () => {
  it.each(["opencode", "copilot"])("stays: %s", async client => {
    const { hooks } = rows.find(one => one.client === client) ?? { hooks: "" };
    put(hooks, "export const other = 1;\n");
    const ran = await home.command(["install", "--client", client], usual());
    expect(ran.code).toBe(1);
    expect(ran.err).toContain("another program's");
    expect(text(hooks)).toBe("export const other = 1;\n");
    await home.command(["uninstall", "--client", client], usual());
    expect(text(hooks)).toBe("export const other = 1;\n");
  });
});

it("the plugin loads by itself, and without Kite does nothing", async () => {
  await kite("install", "--client", "opencode");
  const plugin = join(root, ".config/opencode/plugins/kite.js");
  expect(readFileSync(plugin, "utf8").startsWith(pluginMark)).toBe(true);
  rmSync(join(root, ".kite"), { recursive: true });
  const copy = join(root, "kite.mjs");
  writeFileSync(copy, readFileSync(plugin));
  const script = `
    const { Kite, ...others } = await import(${JSON.stringify(copy)});
    const hooks = await Kite({ client: {}, directory: "/" });
    const call = { tool: "edit", sessionID: "s", callID: "c" };
    await hooks["tool.execute.before"](call, { args: { filePath: "a" } });
    console.log(Object.keys(others).length, Object.keys(hooks).length);`;
  const ran = spawnSync(process.execPath, ["--input-type=module", "-e", script], { env, encoding: "utf8" });
  expect(ran).toMatchObject({ status: 0, stdout: "0 6\n" });
});

it("a command that a client runs ends with 0 and says nothing where Kite is gone", () => {
  const commands = [
    ...Object.values(copilotHooks(null).hooks).flatMap(entries => entries.map(({ bash }) => bash)),
    ...geminiEntries(null).flatMap(([, { hooks }]) => hooks.map(hook => Reflect.get(hook, "command"))),
  ];
  expect(commands.length).toBeGreaterThan(10);
  for (const command of commands) {
    const ran = spawnSync("/bin/sh", ["-c", command], { env, input: "{}", encoding: "utf8" });
    expect(ran).toMatchObject({ status: 0, stdout: "", stderr: "" });
  }
});

it("kite install --client all connects those that are here", async () => {
  const bin = join(root, "programs");
  mkdirSync(bin);
  for (const name of ["opencode", "gemini"]) {
    writeFileSync(join(bin, name), "#!/bin/sh\n");
    chmodSync(join(bin, name), 0o755);
  }
  env = { ...env, PATH: `${bin}:${env["PATH"]}` };
  await kite("install", "--client", "all");
  const there = Object.keys(files());
  for (const { client, hooks } of rows) expect(there.includes(hooks)).toBe(client !== "copilot");
});
