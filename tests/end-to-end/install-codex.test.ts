/** Codex connected, trusted, looked at and taken out again, as a person does it; its app-server is a stand-in. */
import { spawnSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { codexEntries } from "../../hooks/install/codex.ts";
import { Home } from "./daemon.ts";

const standIn = fileURLToPath(new URL("app-server.mjs", import.meta.url));

let home: Home;
let root: string;
let folder: string;
let hooks: string;
let config: string;
let env: Record<string, string>;

beforeEach(() => {
  home = new Home({ kite: ".kite" });
  root = home.root;
  folder = join(root, ".codex");
  hooks = join(folder, "hooks.json");
  config = join(folder, "config.toml");
  const bin = join(root, "bin");
  mkdirSync(bin);
  symlinkSync(standIn, join(bin, "codex"));
  symlinkSync(process.execPath, join(bin, "node"));
  env = { HOME: root, PATH: `${bin}:/usr/bin:/bin` };
});
afterEach(() => home.dispose());

const kite = (...args: string[]) => home.kiteIn(env, ...args);
const connected = (...more: string[]) => kite("install", "--client", "codex", ...more);
const text = (file: string) => readFileSync(file, "utf8");

/** Every file of the client with its text. */
function files(): Record<string, string> {
  if (!existsSync(folder)) return {};
  return Object.fromEntries(readdirSync(folder).map(name => [name, text(join(folder, name))]));
}

/** The entries of other programs, before and behind Kite's. */
const foreign = { hooks: [{ type: "command", command: "echo theirs" }] };

describe("kite install --client codex", () => {
  it("makes the files for a new user, says what is left to do, and takes all away again", async () => {
    const said = await connected();
    expect(said).toContain(`installed: ${hooks}\n`);
    expect(said).toContain("kite install --client codex --trust");
    expect(said).toContain("undo: kite uninstall --client codex\n");
    expect(JSON.parse(text(hooks)).hooks).toEqual(
      Object.fromEntries(codexEntries(null).map(([event, group]) => [event, [group]])),
    );
    expect(text(config)).toBe(`[mcp_servers.kite]\ncommand = "${join(root, ".kite", "bin", "mcp")}"\n`);
    expect(existsSync(join(root, ".claude"))).toBe(false);
    expect(await connected()).toContain("nothing changed");
    const gone = await kite("uninstall", "--client", "codex");
    expect(gone).toContain(`removed: ${hooks}\n`);
    expect(files()).toEqual({});
    expect(existsSync(folder)).toBe(false);
    expect(existsSync(join(root, ".kite", "bin"))).toBe(false);
  });

  const settings: Readonly<Record<string, readonly [hooks: string, config: string]>> = {
    "a pretty file with others' hooks": [
      `${JSON.stringify({ hooks: { Stop: [foreign], PreToolUse: [{ matcher: "Bash", ...foreign }] } }, null, 4)}\n`,
      '# mine\nmodel = "gpt-5.5" # the model\n\n[projects."/srv"]\ntrust_level = "trusted"\n',
    ],
    "one line": [JSON.stringify({ hooks: { Stop: [foreign] } }), 'model = "x"'],
    "a byte order mark and CRLF": [
      `\uFEFF${JSON.stringify({ hooks: {}, more: [1] }, null, "\t").replaceAll("\n", "\r\n")}`,
      '\uFEFFmodel = "x"\r\n\r\n[a]\r\nb = 1\r\n',
    ],
    "no hooks at all": ["{}", ""],
  };
  it.each(Object.keys(settings))("leaves %s to the byte", async name => {
    const [oldHooks = "", oldConfig = ""] = settings[name] ?? [];
    mkdirSync(folder);
    writeFileSync(hooks, oldHooks, { mode: 0o600 });
    writeFileSync(config, oldConfig, { mode: 0o600 });
    await connected("--trust");
    await connected("--trust");
    const there = JSON.parse(text(hooks).replace(/^\uFEFF/, "")).hooks;
    for (const [event, group] of codexEntries(null)) expect(there[event].at(-1)).toEqual(group);
    expect(text(config).startsWith(oldConfig)).toBe(true);
    await kite("uninstall");
    expect(files()).toEqual({ "hooks.json": oldHooks, "config.toml": oldConfig });
  });

  it("takes out only what is Kite's where others wrote meanwhile", async () => {
    mkdirSync(folder);
    writeFileSync(config, 'model = "x"\n');
    await connected("--trust");
    const now = JSON.parse(text(hooks));
    now.hooks.Stop.push(foreign);
    writeFileSync(hooks, JSON.stringify(now, null, 2));
    writeFileSync(config, `${text(config)}\n[projects."/srv"]\ntrust_level = "trusted"\n`);
    const said = await kite("uninstall", "--client", "codex");
    expect(said).toContain(`removed Kite's hooks from: ${hooks}\n`);
    expect(JSON.parse(text(hooks))).toEqual({ hooks: { Stop: [foreign] } });
    expect(text(config)).toBe('model = "x"\n\n[projects."/srv"]\ntrust_level = "trusted"\n');
  });

  const behind = (n: string) =>
    `${n} behind Kite's in ${hooks}; Codex trusts a hook where it stands, so start codex and look at its review`;

  type Groups = { hooks: object[] }[];
  it.each<[string, string | null, (stop: Groups) => unknown]>([
    ["none of yours moves", null, stop => stop.unshift(foreign)],
    ["a group moves up", "a hook of yours stood", stop => stop.push(foreign)],
    [
      "two move",
      "2 hooks of yours stood",
      stop => stop.push({ hooks: [...foreign.hooks, ...foreign.hooks] }),
    ],
    [
      "an entry in a group of Kite's moves up, the group behind it stays",
      "a hook of yours stood",
      stop => {
        stop[0]?.hooks.push(...foreign.hooks);
        stop.push(foreign);
      },
    ],
  ])("says at an uninstall whose trust Codex asks for again: %s", async (_, moved, edit) => {
    await connected();
    const now = JSON.parse(text(hooks));
    edit(now.hooks.Stop);
    writeFileSync(hooks, JSON.stringify(now));
    const said = await kite("uninstall", "--client", "codex");
    if (moved === null) expect(said).not.toContain("behind Kite's");
    else expect(said).toContain(behind(moved));
    expect(JSON.parse(await kite("uninstall", "--client", "codex", "--json"))).not.toHaveProperty("notes");
  });

  it("puts an older entry right where it stands, and adds what is missing behind all else", async () => {
    mkdirSync(folder);
    const written = codexEntries(null);
    const [, stop] = written.find(([event]) => event === "Stop") ?? [];
    const older = { hooks: [{ ...stop?.hooks[0], timeout: 9 }] };
    writeFileSync(hooks, JSON.stringify({ hooks: { Stop: [foreign, older, foreign] } }));
    await connected();
    expect(JSON.parse(text(hooks)).hooks.Stop).toEqual([foreign, stop, foreign]);
    expect(Object.keys(JSON.parse(text(hooks)).hooks)).toHaveLength(written.length);
  });

  it("follows a link, and where CODEX_HOME leads", async () => {
    const other = join(root, "other");
    mkdirSync(other);
    mkdirSync(join(root, "dotfiles"));
    writeFileSync(join(root, "dotfiles", "hooks.json"), "{}\n");
    symlinkSync(join(root, "dotfiles", "hooks.json"), join(other, "hooks.json"));
    env["CODEX_HOME"] = other;
    await connected();
    expect(Object.keys(JSON.parse(text(join(root, "dotfiles", "hooks.json"))).hooks)).toContain("Stop");
    await kite("uninstall", "--client", "all");
    expect(text(join(root, "dotfiles", "hooks.json"))).toBe("{}\n");
    expect(readdirSync(other)).toEqual(["hooks.json"]);
  });

  it("changes nothing in a file that is no JSON, and says so", async () => {
    mkdirSync(folder);
    writeFileSync(hooks, '{ "hooks": oops }');
    await expect(connected()).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`did not change ${hooks}`),
    });
    expect(files()).toEqual({ "hooks.json": '{ "hooks": oops }' });
  });

  it("installs the hooks where config.toml cannot take the tools, and says how to add them", async () => {
    mkdirSync(folder);
    writeFileSync(config, "mcp_servers = {}\n");
    const said = await connected();
    expect(said).toContain("tools for agents: not installed, ");
    expect(said).toContain(`codex mcp add kite -- ${join(root, ".kite", "bin", "mcp")}`);
    expect(text(config)).toBe("mcp_servers = {}\n");
    expect(existsSync(hooks)).toBe(true);
  });

  it("says that it does not change a file with several names", async () => {
    mkdirSync(folder);
    writeFileSync(hooks, "{}\n");
    linkSync(hooks, join(root, "mine.json"));
    await expect(connected()).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${hooks} has 2 names`),
    });
    expect(text(hooks)).toBe("{}\n");
  });

  it.each([
    [
      ["--project"],
      "Codex cannot be connected with --project; kite install --client codex connects it in all projects",
    ],
    [["--allow"], "--allow is an option for Claude Code; leave it out"],
  ])("refuses %s in words", async (more, why) => {
    await expect(connected(...more)).rejects.toMatchObject({ code: 1, stderr: `kite: ${why}\n` });
    expect(files()).toEqual({});
  });

  it("writes commands that do nothing where Kite's folder is gone", async () => {
    await connected();
    rmSync(join(root, ".kite"), { recursive: true });
    type Groups = readonly { readonly hooks: readonly { readonly command: string }[] }[];
    for (const groups of Object.values<Groups>(JSON.parse(text(hooks)).hooks)) {
      const command = groups[0]?.hooks[0]?.command ?? "exit 9";
      const ran = spawnSync("/bin/sh", ["-c", command], {
        input: "{}",
        env,
        encoding: "utf8",
      });
      expect([ran.status, ran.stdout, ran.stderr]).toEqual([0, "", ""]);
    }
  });
});

describe("which clients", () => {
  it("a bare install in a pipe connects Claude Code, and names the others that are here", async () => {
    const said = await kite("install");
    expect(said).toContain(join(root, ".claude", "settings.json"));
    expect(said).toContain("also here: Codex; to connect: kite install --client codex\n");
    expect(existsSync(hooks)).toBe(false);
    await connected();
    expect(await kite("install")).not.toContain("also here");
  });

  it("several are connected by name, or all that are here, and told in one object", async () => {
    mkdirSync(join(root, ".claude"));
    const { clients } = JSON.parse(await kite("install", "--client", "all", "--json"));
    expect(clients.map((one: { name: string }) => one.name)).toEqual(["claude-code", "codex"]);
    await kite("uninstall", "--client", "claude-code");
    expect(existsSync(hooks)).toBe(true);
    expect(existsSync(join(root, ".kite", "bin", "hook"))).toBe(true);
    const one = JSON.parse(await kite("install", "--client", "claude-code,codex", "--json"));
    expect(one.clients.map(({ changed }: { changed: boolean }) => changed)).toEqual([true, false]);
  });

  it("one that fails does not keep the others from their hooks", async () => {
    mkdirSync(folder);
    writeFileSync(hooks, "oops");
    await expect(kite("install", "--client", "codex", "claude-code")).rejects.toMatchObject({ code: 1 });
    expect(existsSync(join(root, ".claude", "settings.json"))).toBe(true);
  });

  it("none is connected by a name that Kite does not know", async () => {
    await expect(kite("install", "--client", "codes")).rejects.toMatchObject({
      stderr: expect.stringContaining("claude-code, codex, "),
    });
  });
});

describe("kite doctor", () => {
  const codexLine = async () => {
    const { out } = await home.command(["doctor", "--json"], { ...env, KITE_HOME: "" }, root);
    const found = JSON.parse(out).checks.filter((one: { check: string }) => one.check === "codex");
    return found.map((one: { result: string; detail: string; todo?: string }) =>
      [one.result, one.detail, one.todo ?? ""].join(" | "),
    );
  };

  it("says what is so, from not here to trusted", async () => {
    expect(await codexLine()).toEqual([
      "ok | Codex is here, and not connected; to connect it: kite install --client codex | ",
    ]);
    await connected();
    expect(await codexLine()).toEqual([
      expect.stringMatching(
        /^warn \| Codex 0\.171\.0 skips 10 of Kite's hooks, .* \| let it trust them: kite install --client codex --trust/,
      ),
    ]);
    await connected("--trust");
    expect(await codexLine()).toEqual([`ok | Codex 0.171.0 has all entries in ${hooks}, and trusts them | `]);
    env["STAND_IN"] = "old";
    expect(await codexLine()).toEqual([expect.stringMatching(/^warn .* \| start codex and type \/hooks/)]);
    env["STAND_IN_VERSION"] = "0.140.1";
    expect(await codexLine()).toEqual([expect.stringContaining("Codex 0.140.1 is older than 0.169.0")]);
    const one = JSON.parse(text(hooks));
    delete one.hooks.Stop;
    writeFileSync(hooks, JSON.stringify(one));
    expect(await codexLine()).toEqual([expect.stringContaining("are not those of this version")]);
    rmSync(join(root, ".kite", "bin"), { recursive: true });
    expect(await codexLine()).toEqual([expect.stringContaining("which is gone")]);
    await kite("uninstall");
    rmSync(join(root, "bin", "codex"));
    expect(await codexLine()).toEqual([]);
  });
});

it("kite status and kite update speak of Codex where it alone is connected", async () => {
  await connected();
  await kite("up");
  expect(await kite("status")).toContain("type a prompt in two Codex sessions");
  expect(await kite("update")).not.toContain("Codex's entries");
  const older = JSON.parse(text(hooks));
  older.hooks.Stop[0].hooks[0].timeout = 9;
  writeFileSync(hooks, JSON.stringify(older));
  expect(await kite("update").catch((error: { stdout: string }) => error.stdout)).toContain(
    "kite install --client codex",
  );
  await kite("down", "--yes");
});

describe("--trust", () => {
  it("has the client note it, only for Kite's hooks and only once", async () => {
    mkdirSync(folder);
    writeFileSync(hooks, JSON.stringify({ hooks: { Stop: [foreign] } }));
    expect(await connected("--trust")).toContain("Codex trusts Kite's hooks");
    const once = text(config);
    expect(once.match(/trusted_hash/g)).toHaveLength(codexEntries(null).length);
    expect(once).not.toContain(":stop:0:0");
    await connected("--trust");
    expect(text(config)).toBe(once);
    expect(JSON.parse(await connected("--trust", "--json"))).toMatchObject({ isTrusted: true });
  });

  it.each([
    ["old", "it refused a question: unknown hooks/list"],
    ["stubborn", `Codex still does not trust ${codexEntries(null).length} hooks of Kite's`],
  ])("says why where the client is %s, and leaves the hooks", async (kind, why) => {
    env["STAND_IN"] = kind;
    await expect(connected("--trust")).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(why),
    });
    expect(existsSync(hooks)).toBe(true);
  });

  it("ends a client that never answers", async () => {
    env["STAND_IN"] = "deaf";
    env["STAND_IN_PID"] = join(root, "pids");
    await expect(connected("--trust")).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining("did not answer in time"),
    });
    const pid = Number(text(join(root, "pids")));
    expect(() => process.kill(pid, 0)).toThrow("ESRCH");
  }, 40_000);

  it("says what to type where no codex is in PATH", async () => {
    rmSync(join(root, "bin", "codex"));
    await expect(connected("--trust")).rejects.toMatchObject({
      stderr: expect.stringContaining("start codex, and trust Kite's hooks in its review"),
    });
  });

  it("goes with a client that asks for trust", async () => {
    await expect(kite("install", "--trust")).rejects.toMatchObject({
      stderr: expect.stringContaining("kite install --client codex --trust"),
    });
  });

  it("is a person's alone", async () => {
    await expect(
      home.kiteIn({ ...env, CLAUDECODE: "1" }, "install", "--client", "codex", "--trust"),
    ).rejects.toThrow();
    expect(files()).toEqual({});
  });
});
