/**
 * Ways to break an installation, one a row: the line that doctor must print, and what mends it. After that the next run
 * must be clean. A row without `byHand` is mended by `kite doctor --fix --yes`; a row with it by following the advice.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Home } from "./daemon.ts";
import { kite, kiteProgram } from "./kite.ts";

interface Row {
  readonly name: string;
  /** Shell lines in the home directory, with the daemon running; `$K` is Kite's directory. */
  readonly break: string;
  /** More of it that a shell cannot do. */
  readonly more?: () => Promise<void>;
  /** It is about the tools for agents, or about all that is installed: doctor starts the tools at each check. */
  readonly tools?: true;
  /** Stop the daemon before it is broken. */
  readonly down?: true;
  /** Variables of doctor's shell. */
  readonly env?: () => Record<string, string>;
  /** Result, check and what its detail holds. */
  readonly line: readonly ["warn" | "fail", string, RegExp];
  /** Lines that a person types after reading the advice; `false`: the variables above are taken back. */
  readonly byHand?: string | false;
}

const settings = ".claude/settings.json";
/** Edits the settings with an expression on `s`. */
const edit = (expression: string, file = settings) =>
  `node -e 'const fs=require("fs");const f="${file}";const s=JSON.parse(fs.readFileSync(f));${expression};fs.writeFileSync(f,JSON.stringify(s,null,2))'`;
const flip = (file: string, at: string) =>
  `node -e 'const fs=require("fs");const f=process.argv[1];const b=fs.readFileSync(f);const at=${at};b[at]^=1;fs.writeFileSync(f,b)' ${file}`;

/** What a person runs for a damaged journal: the line that `kite repair` prints. */
const repaired = "$(kite repair </dev/null | grep -o 'kite repair --discard-after [0-9]*') && kite up";

const rows: readonly Row[] = [
  {
    name: "the daemon was stopped",
    break: "kite down",
    line: ["warn", "daemon", /not running, and hooks do not start it/],
  },
  { name: "the daemon was killed", break: "kill -9 $(pid); gone", line: ["warn", "daemon", /^not running$/] },
  {
    name: "the daemon is stopped by a signal",
    break: "kill -STOP $(pid)",
    line: ["fail", "daemon", /is stopped by a signal/],
  },
  {
    name: "daemon.json is gone",
    break: "rm $K/daemon.json",
    line: ["fail", "lock", /daemon\.json is missing/],
  },
  {
    name: "daemon.json is no JSON",
    break: "echo x > $K/daemon.json",
    line: ["fail", "lock", /not as Kite writes it/],
  },
  {
    name: "daemon.json names another process",
    break: `sed -i "s/\\"pid\\": [0-9]*/\\"pid\\": $$/" $K/daemon.json`,
    line: ["fail", "lock", /but \d+ answers/],
  },
  {
    name: "a newer build lies on the disk",
    break: "touch -d 2001-01-01 $K/daemon.json",
    line: ["warn", "daemon", /before the last build/],
  },
  {
    name: "a file in the socket's place",
    down: true,
    break: "echo > $K/kite.sock",
    line: ["fail", "daemon", /kite\.sock is a file, not the daemon's socket/],
  },
  {
    name: "a folder in the socket's place",
    down: true,
    break: "mkdir $K/kite.sock",
    line: ["fail", "daemon", /is a folder, not/],
  },
  {
    name: "another program listens on the socket",
    down: true,
    break: "",
    more: () => listenElsewhere(),
    line: ["fail", "daemon", /process \d+: .*\) listens on .*it is no Kite daemon/],
  },
  {
    name: "the directory is open to others",
    break: "chmod 755 $K",
    line: ["fail", "home", /open to other users \(mode 0755\)/],
  },
  {
    name: "the directory may not be written",
    down: true,
    break: "chmod 500 $K",
    line: ["fail", "home", /may not read and write/],
  },
  {
    name: "the directory is a file",
    down: true,
    break: "mv $K k2; echo > $K",
    line: ["fail", "home", /is not a directory/],
  },
  {
    name: "the directory is a link",
    down: true,
    break: "mv $K k2; ln -s $PWD/k2 $K",
    line: ["fail", "home", /is a link/],
  },
  {
    name: "the directory's link leads nowhere",
    down: true,
    break: "rm -r $K; ln -s $PWD/none $K",
    line: ["fail", "home", /is a link/],
  },
  {
    name: "the whole directory is gone",
    down: true,
    break: "rm -r $K",
    line: ["fail", "hooks", /runs hooks in .*, which is gone/],
  },
  {
    name: "KITE_HOME is too long",
    break: "",
    env: () => ({ KITE_HOME: `/tmp/${"x".repeat(100)}` }),
    line: ["fail", "socket path", /of at most 103 bytes/],
    byHand: false,
  },
  {
    name: "the journal is damaged",
    break: `task add one; task add two; kill -9 $(pid); gone; ${flip("$K/journal/*-*1.log", "b.indexOf(10)-20")}`,
    line: ["fail", "journal", /the journal is damaged/],
    byHand: repaired,
  },
  {
    name: "a segment of the journal is gone",
    break: "kite down; kite up; task add one; kite down; rm $K/journal/*.log",
    line: ["fail", "journal", /the journal is damaged/],
    byHand: repaired,
  },
  {
    name: "the journal's last write was torn",
    break: "task add one; kill -9 $(pid); gone; printf abc >> $(ls $K/journal/*.log | tail -1)",
    line: ["warn", "journal", /torn write/],
  },
  {
    name: "the newest snapshot is damaged",
    break: `task add one; kite down; kite up; task add two; kite down; ${flip("$(ls $K/journal/*.snapshot | tail -1)", "20")}`,
    line: ["warn", "journal", /\.snapshot is damaged/],
  },
  {
    name: "a segment of the journal is a folder",
    break: "task add one; kite down; f=$(ls $K/journal/*.log | tail -1); rm $f; mkdir $f",
    line: ["fail", "journal", /\.log is a folder, not a regular file, so the journal cannot be read/],
    byHand: `kite doctor --fix --yes; ${repaired}`,
  },
  {
    name: "a snapshot of the journal is a pipe",
    break: "task add one; kite down; f=$(ls $K/journal/*.snapshot | tail -1); rm $f; mkfifo $f",
    line: ["fail", "journal", /\.snapshot is a pipe, not a regular file/],
  },
  {
    name: "a file in the journal's place",
    down: true,
    break: "rm -r $K/journal; echo > $K/journal",
    line: ["fail", "journal", /is not a folder/],
    byHand: "mv $K/journal $K/journal.aside; kite up --empty",
  },
  {
    name: "the log is a folder",
    down: true,
    break: "rm $K/daemon.log; mkdir $K/daemon.log",
    line: ["fail", "files", /daemon\.log is a folder, not a regular file/],
  },
  {
    name: "a file in the trail's place",
    down: true,
    break: "rm -rf $K/trail; echo > $K/trail; kite up",
    line: ["fail", "files", /trail is a file, not a folder, so no decision/],
  },
  {
    name: "a folder in the place of the ends that a daemon takes",
    break: "mkdir $K/unheard-ends.taken",
    line: ["fail", "ends", /unheard-ends\.taken is a folder, not a regular file, so no daemon hears/],
  },
  {
    name: "a folder in the place of the older ends",
    break: "mkdir $K/unheard-ends.old",
    line: ["fail", "ends", /unheard-ends\.old is a folder/],
  },
  {
    name: "a pipe where hooks leave ends",
    break: "mkfifo $K/unheard-ends",
    line: ["fail", "ends", /unheard-ends is a pipe/],
  },
  {
    name: "a log grew over its bound",
    break: "truncate -s 1G $K/daemon.log.9",
    line: ["warn", "logs", /more than their bounds/],
  },
  {
    name: "config.json is no JSON",
    break: `printf '{\\n "yieldMs": 5,\\n}' > $K/config.json`,
    line: ["warn", "config", /no JSON \(line 3, column 1/],
  },
  {
    name: "config.json has an unknown key",
    break: `echo '{"yieldMS": 5, "treeGuard": "warn"}' > $K/config.json`,
    line: ["warn", "config", /did you mean yieldMs/],
  },
  {
    name: "config.json has a wrong value",
    break: `echo '{"logLevel": "loud"}' > $K/config.json`,
    line: ["warn", "config", /logLevel is ignored/],
  },
  {
    name: "a yield longer than the wait",
    break: `echo '{"lockWaitMs": 5000, "yieldMs": 9000}' > $K/config.json`,
    line: ["warn", "config", /yieldMs \(9000/],
  },
  {
    name: "a variable has a wrong value",
    break: "",
    env: () => ({ KITE_YIELD_MS: "soon" }),
    line: ["warn", "config", /KITE_YIELD_MS/],
    byHand: false,
  },
  {
    name: "the project's configuration is no JSON",
    break: "mkdir -p p/.git p/.kite; echo '[' > p/.kite/config.json",
    line: ["warn", "config", /no JSON \(line 2, column 1/],
    byHand: "echo '{}' > p/.kite/config.json",
  },
  {
    name: "the trusted checks cannot be read",
    break: "echo x > $K/trusted.json",
    line: ["fail", "trust", /not as Kite writes it/],
  },
  { name: "Kite is off", break: "kite off", line: ["warn", "off", /off everywhere/] },
  {
    name: "Kite is off in a project",
    break: "kite off --project .",
    line: ["warn", "off", /Kite is off in/],
  },
  {
    name: "what is off cannot be read",
    break: "echo x > $K/off.json",
    line: ["warn", "off", /not as Kite writes it/],
  },
  {
    name: "KITE=off is set",
    break: "",
    env: () => ({ KITE: "off" }),
    line: ["warn", "off", /KITE=off/],
    byHand: false,
  },
  {
    name: "the client lost its copy of the plugin",
    tools: true,
    break: `kite uninstall; kite plugin plug; mkdir -p .claude; echo '{"enabledPlugins":{"kite@kite":true}}' > ${settings}`,
    line: ["fail", "hooks", /switches on the plugin kite@kite, and Claude Code has no copy of it/],
    byHand: "mkdir -p .claude/plugins/cache/kite/kite/0.1.0/hooks",
  },
  {
    name: "the plugin's programs are gone",
    tools: true,
    break: "rm -r $K/bin",
    line: ["fail", "hooks", /the plugin kite@kite, and its programs in .* are gone/],
  },
  {
    name: "the plugin is uninstalled",
    tools: true,
    break: "rm .claude/settings.json; kite uninstall --all",
    line: ["warn", "hooks", /not installed/],
  },
  {
    name: "nothing is installed",
    tools: true,
    break: "kite uninstall",
    line: ["warn", "hooks", /not installed/],
  },
  {
    name: "the settings are no JSON",
    break: `cp ${settings} s; echo ',' >> ${settings}`,
    line: ["fail", "hooks", /is no JSON: line \d+, column 1: expected nothing more/],
    byHand: `cp s ${settings}`,
  },
  {
    name: "the settings lost PreToolUse and Stop",
    break: edit("delete s.hooks.PreToolUse; delete s.hooks.Stop"),
    line: ["fail", "hooks", /lacks Kite's entries for PreToolUse, Stop/],
  },
  {
    name: "the settings have one entry changed",
    break: edit("s.hooks.PreToolUse[0].hooks[0].timeout = 1"),
    line: ["fail", "hooks", /PreToolUse, or has them changed/],
  },
  {
    name: "the settings lost all hooks",
    break: edit("delete s.hooks"),
    line: ["fail", "hooks", /lost Kite's entries/],
  },
  { name: "the settings are gone", break: `rm ${settings}`, line: ["fail", "hooks", /was removed/] },
  {
    name: "hooks are switched off in the user's settings",
    break: edit("s.disableAllHooks = true"),
    line: ["fail", "hooks", /"disableAllHooks" is true/],
  },
  {
    name: "hooks are switched off in the project",
    break:
      'mkdir -p p/.git p/.claude; echo \'{"disableAllHooks":true,"a":1}\' > p/.claude/settings.json; cd p',
    line: ["fail", "hooks", /p\/\.claude\/settings\.json/],
  },
  {
    name: "another Kite is installed too",
    break: "KITE_HOME=$PWD/k2 kite install --no-mcp",
    line: ["fail", "hooks", /another Kite too, in .*k2/],
  },
  {
    name: "the record of installs is damaged",
    break: "echo x > $K/installs.json",
    line: ["fail", "hooks", /installs\.json is not as Kite writes it/],
  },
  {
    name: "the hook client is of another version",
    break: "echo '# old' >> $K/bin/hook.pl",
    line: ["warn", "hook client", /belongs to another version/],
  },
  {
    name: "the hook client is gone",
    break: "rm $K/bin/hook.pl",
    line: ["fail", "hook client", /hook\.pl is missing/],
  },
  {
    name: "the starter leads elsewhere",
    break: "sed -i s/kite.cjs/gone.mjs/ $K/bin/start",
    line: ["warn", "hook client", /does not start the daemon of this Kite/],
  },
  {
    name: "the Node that was installed with is gone",
    break: "rm $K/bin/node; ln -s /none/node $K/bin/node",
    line: ["fail", "hook client", /leads to no program/],
  },
  {
    name: "the tools' entry is gone",
    tools: true,
    break: edit("delete s.mcpServers", ".claude.json"),
    line: ["warn", "agent tools", /the entry was removed/],
  },
  {
    name: "the tools' program is gone",
    tools: true,
    break: "rm $K/bin/mcp",
    line: ["fail", "agent tools", /bin\/mcp is missing, so no agent/],
  },
  {
    name: "the client's own file is no JSON",
    tools: true,
    break: "cp .claude.json s; echo } >> .claude.json",
    line: ["fail", "agent tools", /is no JSON: line/],
    byHand: "cp s .claude.json",
  },
  {
    name: "the client's own file is a pipe",
    tools: true,
    break: "mv .claude.json s; mkfifo .claude.json",
    line: ["fail", "agent tools", /\.claude\.json is a pipe/],
    byHand: "rm .claude.json; mv s .claude.json",
  },
  {
    name: "the record of tools is damaged",
    tools: true,
    break: "echo x > $K/servers.json",
    line: ["fail", "agent tools", /servers\.json is not as Kite writes it/],
  },
  { name: "kite is not on the PATH", break: "rm bin/kite", line: ["warn", "path", /no kite on the PATH/] },
  {
    name: "kite on the PATH leads nowhere",
    break: "rm bin/kite; ln -s /none/kite bin/kite",
    line: ["warn", "path", /a program that is gone/],
  },
  {
    name: "another program is called kite",
    break: "rm bin/kite; printf '#!/bin/sh\\necho hello' > bin/kite; chmod 755 bin/kite",
    line: ["warn", "path", /another program of that name/],
    byHand: "rm bin/kite; cp kite.sh bin/kite",
  },
];

let home: Home | null = null;
let root = "";
/** The last row left everything well, as its last run of doctor proved: the next one begins there. */
let isWell = false;
/** The tools for agents are installed, too. */
let hasTools = false;
const children: (() => void)[] = [];

afterAll(leave);

/** An installation that is well. */
async function enter(tools: boolean): Promise<void> {
  if (isWell && hasTools === tools) {
    isWell = false;
    return;
  }
  await leave();
  isWell = false;
  hasTools = tools;
  home = new Home({ kite: ".kite" });
  ({ root } = home);
  mkdirSync(join(root, "bin"));
  // A program that starts this build: the one of the clone would build it anew.
  const script = `#!/bin/sh\nexec '${process.execPath}' '${kiteProgram}' "$@"\n`;
  writeFileSync(join(root, "kite.sh"), script, { mode: 0o755 });
  writeFileSync(join(root, "bin", "kite"), script, { mode: 0o755 });
  sh(`kite install ${tools ? "" : "--no-mcp"} && kite up`);
}

async function leave(): Promise<void> {
  for (const end of children.splice(0)) end();
  if (home === null) return;
  sh("chmod -f 700 $K; kill -CONT $(pid) 2>/dev/null; kite down --yes");
  await home.dispose();
}

const folders = () => [join(root, "bin"), "/usr/bin", "/bin"].join(":");

/** Runs lines in the home directory with the words that rows use. */
function sh(lines: string, more: Record<string, string> = {}) {
  const words = `K=$HOME/.kite
kite() { '${process.execPath}' '${kiteProgram}' "$@"; }
node() { '${process.execPath}' "$@"; }
task() { kite task "$@" >/dev/null; }
pid() { sed -n 's/.*"pid": \\([0-9]*\\).*/\\1/p' $K/daemon.json; }
gone() { while kill -0 $(pid) 2>/dev/null && ! grep -q '^State:.Z' /proc/$(pid)/status; do :; done; }
`;
  const options = { ...place(more), encoding: "utf8" } as const;
  const ran = spawnSync("/bin/sh", ["-c", `${words}\n${lines}`], options);
  return { code: ran.status, out: ran.stdout, said: `${ran.stdout}${ran.stderr}` };
}

/** Where doctor runs: in a project, if the row made one. */
function place(more: Record<string, string>) {
  const project = join(root, "p");
  return { cwd: existsSync(project) ? project : root, env: { HOME: root, PATH: folders(), ...more } };
}

interface Check {
  readonly check: string;
  readonly result: string;
  readonly detail: string;
  readonly todo?: string;
  readonly fix?: string;
}

interface Ran {
  readonly ok: boolean;
  readonly checks: readonly Check[];
  /** Before the fixes. */
  readonly found?: readonly Check[];
}

async function doctor(flags: readonly string[], more: Record<string, string> = {}): Promise<Ran> {
  const { out, err } = await kite(place(more), ["doctor", "--json", ...flags]);
  if (!out.startsWith("{")) throw new Error(`doctor said: ${out}${err}`);
  return JSON.parse(out);
}

const wrong = ({ checks }: { readonly checks: readonly Check[] }) =>
  checks
    .filter(({ result }) => result !== "ok")
    .map(({ result, check, detail }) => `${result} ${check}: ${detail}`);

/** A program that listens on Kite's socket and answers nothing. */
async function listenElsewhere(): Promise<void> {
  const listen = `require("net").createServer(()=>{}).listen(process.argv[1],()=>console.log("up"))`;
  const child = spawn(process.execPath, ["-e", listen, join(root, ".kite", "kite.sock")], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  children.push(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
}

it("a new installation is well", async () => {
  await enter(true);
  expect(wrong(await doctor([]))).toEqual([]);
  isWell = true;
});

describe("doctor", () => {
  it("knows thirty ways and more", () => expect(rows.length).toBeGreaterThan(30));

  it.each(rows.map(row => [row.name, row] as const))("%s", async (_name, row) => {
    await enter(row.tools === true);
    if (row.down) {
      await kite(place({}), ["down"]);
      rmSync(join(root, ".kite", "down"));
    }
    const broken = sh(row.break);
    await row.more?.();
    const [result, check, detail] = row.line;
    const env = row.env?.() ?? {};
    const isMended = row.byHand === undefined;
    const ran = await doctor(isMended ? ["--fix", "--yes"] : [], env);
    const found = isMended ? (ran.found ?? []) : ran.checks;
    const todo = expect.stringMatching(/\w/);
    expect(found, broken.said).toContainEqual(
      expect.objectContaining({ check, result, detail: expect.stringMatching(detail), todo }),
    );
    if (row.byHand !== undefined && row.byHand !== false) sh(`cd ${root}; ${row.byHand}`);
    expect(wrong(isMended ? ran : await doctor([]))).toEqual([]);
    expect(ran.ok).toBe(isMended || result !== "fail");
    for (const end of children.splice(0)) end();
    sh(`cd ${root}; rm -rf p k2 s bin/kite .kite.aside .kite/*.aside; cp kite.sh bin/kite`);
    isWell = true;
  });
});

it("asks at a terminal only, and changes nothing without a yes", async () => {
  await enter(true);
  sh("kite down");
  const ran = sh("kite doctor --fix </dev/null");
  expect(ran.said).toBe(
    "kite: kite doctor --fix asks at a terminal; without one, or with --json, add --yes\n",
  );
  expect(ran.code).toBe(1);
});

it("--fix does what the lines say, tells each step, and checks again", async () => {
  await enter(true);
  sh(`kite down; ${edit("delete s.hooks.Stop; s.mine = 1")}; echo '{"a":1}' > $K/config.json`);
  const { said, code } = sh("kite doctor --fix --yes");
  expect(code).toBe(0);
  for (const step of ["kite up", "kite install", "kite config unset a"])
    expect(said).toContain(`\n${step}\n`);
  expect(said.trim().split("\n").at(-1)).toBe("all is well");
  expect(JSON.parse(readFileSync(join(root, settings), "utf8")).mine).toBe(1);
});

it("repair keeps what it cannot save, and says what that is", async () => {
  await enter(true);
  sh(`task add one; task add two; kite context set k 5; task add three; kill -9 $(pid); gone`);
  sh(
    `f=$(ls $K/journal/*.log); node -e 'const fs=require("fs");const f=process.argv[1];const b=fs.readFileSync(f);const at=b.indexOf("three");b[at]^=1;fs.writeFileSync(f,Buffer.concat([b,b.subarray(b.indexOf(10)+1)]))' $f`,
  );
  const up = sh("kite up");
  expect([up.code, up.said]).toEqual([1, expect.stringContaining("kite repair")]);
  const shown = sh("kite repair </dev/null");
  expect(shown.said).toMatch(/Can be saved: 2 tasks, 1 context value, 0 messages/);
  const [line = ""] = /kite repair --discard-after \d+/.exec(shown.said) ?? [];
  expect(shown.said).toContain(`Nothing was changed. To save this: ${line}`);
  const wrong = sh("kite repair --discard-after 1 --json");
  expect([wrong.code, JSON.parse(wrong.out)]).toMatchObject([1, { code: "not_confirmed" }]);
  expect(wrong.out).toContain(line);
  expect(sh("kite repair --yes").said).toContain("has no option --yes");
  const fixed = JSON.parse(sh("kite doctor --fix --yes --json").out);
  expect(JSON.stringify(fixed.done)).toContain("--yes does not stand for this");
  const before = readdirSync(join(root, ".kite", "journal")).filter(name => name !== "reserve");
  const { saved, lost, copy } = JSON.parse(sh(`${line} --json`).out);
  expect(saved).toMatchObject({ tasks: 2, context: 1 });
  expect(lost.entries).toBeGreaterThanOrEqual(1);
  expect(readdirSync(copy).sort()).toEqual(before.sort());
  sh("kite up");
  const tasks = JSON.parse(sh("kite task list --json").out);
  expect(JSON.stringify(tasks)).toContain("two");
  expect(sh("kite context get k").out.trim()).toBe("5");
  expect(sh("kite repair").said).toMatch(/the daemon runs/);
  sh("kite down; f=$(ls $K/journal/*.log | tail -1); rm $f; mkdir $f");
  expect(sh("kite repair").said).toMatch(
    /^kite: \S+\.log is a folder, [^;]* cannot\s+be\s+read;\s+put it aside: mv \S+ \S+;\s+then kite repair again\n$/,
  );
});
