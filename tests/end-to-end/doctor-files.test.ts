/**
 * Every file that Kite needs, broken in each way: missing, empty, a folder in its place, not readable, not writable. A row
 * says which line doctor prints; after `kite doctor --fix --yes`, or what the advice says, the next look finds all well.
 * Everything runs as a plain user, since the system refuses nothing to root.
 */
import { spawnSync } from "node:child_process";
import { chownSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { leaveBehind } from "../left-behind.ts";
import { kiteProgram } from "./kite.ts";

/** How a file is broken: shell lines with its path in `$F`. */
const breakages = {
  missing: "rm -rf $F",
  empty: "if [ -d $F ]; then rm -rf $F; mkdir -m 700 $F; else rm -f $F; : > $F; chmod 755 $F; fi",
  folder: "[ -d $F ] || { rm -f $F; mkdir $F; : > $F/x; }",
  unreadable: "chmod 000 $F",
  unwritable: "chmod a-w $F",
} as const;
type Breakage = keyof typeof breakages;

/** A line that doctor prints: result, check, detail. `byHand`: lines that follow the advice, where no fix does. */
interface Line {
  readonly line: readonly [result: "warn" | "fail", check: string, detail: RegExp];
  readonly byHand?: string;
}

interface Row {
  /** The path, for a shell in which `$K` is Kite's directory. */
  readonly path: string;
  /** Breakages that do not break it, because nothing needs what they take, are left out. */
  readonly broken: Readonly<Partial<Record<Breakage, Line>>>;
  /** It is broken while no daemon runs, and a daemon is started then. */
  readonly isAtStart?: true;
  readonly isMadeFirst?: string;
}

const line = (result: "warn" | "fail", check: string, detail: RegExp, byHand?: string): Line =>
  byHand === undefined ? { line: [result, check, detail] } : { line: [result, check, detail], byHand };
const hook = (detail: RegExp) => line("fail", "hook client", detail);

const rows: readonly Row[] = [
  {
    path: "$K/bin",
    broken: {
      missing: line("fail", "hooks", /runs hooks in \S+bin, which is gone/),
      empty: hook(/bin\/hook\.cjs is missing/),
      unreadable: hook(/you may not read and open \S+\/bin, so no hook runs/),
    },
  },
  ...["hook.pl", "hook.cjs", "hook", "start", "statusline"].map(name => ({
    path: `$K/bin/${name}`,
    broken: {
      missing: hook(new RegExp(`bin/${name} is missing`)),
      empty: hook(new RegExp(`bin/${name} is empty`)),
      folder: hook(new RegExp(`bin/${name} is a folder, not a regular file`)),
      unreadable: hook(new RegExp(`you may not read and run \\S+bin/${name}`)),
    },
  })),
  {
    path: "$K/bin/node",
    broken: {
      missing: hook(/bin\/node leads to no program/),
      empty: hook(/bin\/node is empty/),
      folder: hook(/bin\/node is a folder, not a link to Node/),
    },
  },
  {
    path: "$K/bin/mcp",
    broken: {
      missing: line("fail", "agent tools", /bin\/mcp is missing, so no agent has Kite's tools/),
      empty: line("fail", "agent tools", /bin\/mcp is empty/),
      folder: line("fail", "agent tools", /bin\/mcp is a folder/),
      unreadable: line("fail", "agent tools", /you may not read and run \S+mcp/),
    },
  },
  {
    path: "$K/daemon.json",
    broken: {
      missing: line("fail", "lock", /daemon\.json is missing/),
      empty: line("fail", "lock", /daemon\.json is empty/),
      folder: line("fail", "files", /daemon\.json is a folder/),
      unreadable: line("fail", "files", /you may not read \S+daemon\.json/),
    },
  },
  {
    path: "$K/daemon.lock",
    isAtStart: true,
    broken: {
      folder: line("fail", "files", /daemon\.lock is a folder, not a regular file, so no daemon can start/),
      unreadable: line("fail", "files", /you may not read and write \S+daemon\.lock, so no daemon/),
      unwritable: line("fail", "files", /you may not write \S+daemon\.lock, so no daemon/),
    },
  },
  {
    path: "$K/kite.sock",
    broken: {
      missing: line("warn", "daemon", /not running/),
      empty: line("fail", "daemon", /kite\.sock is a file, not the daemon's socket/),
      folder: line("fail", "daemon", /kite\.sock is a folder, not the daemon's socket/),
      unreadable: line("fail", "daemon", /you may not read and write \S+kite\.sock, so no program reaches/),
      unwritable: line("fail", "daemon", /you may not write \S+kite\.sock, so no program reaches/),
    },
  },
  {
    path: "$K/journal",
    isAtStart: true,
    broken: {
      missing: line("fail", "journal", /the journal is missing/, "kite up --empty"),
      empty: line("fail", "journal", /the journal is missing/, "kite up --empty"),
      unreadable: line("fail", "journal", /you may not read and open \S+journal/),
      unwritable: line("fail", "journal", /you may not write \S+journal, so the daemon cannot store/),
    },
  },
  {
    path: "$(ls $K/journal/*.log | tail -1)",
    isAtStart: true,
    broken: {
      missing: line("fail", "journal", /its last segment \S+ is missing/, "restore"),
      empty: line("fail", "journal", /the log ends with entry \d+, but the snapshot holds/, "restore"),
      folder: line("fail", "journal", /\.log is a folder, not a regular file/, "restore"),
      unreadable: line("fail", "journal", /you may not read \S+\.log, so the journal cannot be read/),
      unwritable: line("fail", "journal", /you may not write \S+\.log, so the daemon cannot store/),
    },
  },
  {
    path: "$(ls $K/journal/*.snapshot | tail -1)",
    isAtStart: true,
    broken: {
      empty: line("warn", "journal", /\.snapshot is damaged/),
      folder: line("fail", "journal", /\.snapshot is a folder/),
      unreadable: line("fail", "journal", /you may not read \S+\.snapshot/),
    },
  },
  {
    path: "$K/store.json",
    isAtStart: true,
    broken: {
      folder: line("fail", "files", /store\.json is a folder, .* so a start does not notice/),
    },
  },
  {
    path: "$K/config.json",
    broken: {
      empty: line("warn", "config", /config\.json is ignored: it is no JSON/),
      folder: line("warn", "config", /config\.json is ignored: it is no regular file/),
      unreadable: line("warn", "config", /config\.json is ignored: no permission/),
    },
  },
  {
    path: "$K/trusted.json",
    isMadeFirst: "",
    broken: {
      empty: line("fail", "trust", /trusted\.json is empty, so no project's checks are trusted/),
      folder: line("fail", "trust", /trusted\.json is a folder/),
      unreadable: line("fail", "trust", /you may not read \S+trusted\.json/),
    },
  },
  {
    path: "$K/person.token",
    broken: {
      missing: line("fail", "files", /person\.token is missing, so no command counts as a person's/),
      empty: line("fail", "files", /person\.token is empty, so no command/),
      folder: line("fail", "files", /person\.token is a folder/),
      unreadable: line("fail", "files", /you may not read \S+person\.token, so no command/),
    },
  },
  {
    path: "$K/installs.json",
    broken: {
      empty: line("fail", "hooks", /installs\.json is empty/),
      folder: line("fail", "hooks", /installs\.json is a folder/),
      unreadable: line("fail", "hooks", /you may not read \S+installs\.json/),
    },
  },
  {
    path: "$K/servers.json",
    broken: {
      empty: line("fail", "agent tools", /servers\.json is empty/),
      folder: line("fail", "agent tools", /servers\.json is a folder/),
      unreadable: line("fail", "agent tools", /you may not read \S+servers\.json/),
    },
  },
  {
    path: "$K/daemon.log",
    isAtStart: true,
    broken: {
      folder: line("fail", "files", /daemon\.log is a folder, .*so the daemon cannot write its log/),
      unreadable: line("fail", "files", /you may not write \S+daemon\.log/),
      unwritable: line("fail", "files", /you may not write \S+daemon\.log/),
    },
  },
  {
    path: "$K/trail",
    isAtStart: true,
    broken: {
      unreadable: line("fail", "files", /you may not read and write and open \S+trail, so no decision/),
      unwritable: line("fail", "files", /you may not write \S+trail, so no decision is recorded/),
    },
  },
  {
    path: "$(ls $K/trail/* | tail -1)",
    broken: {
      folder: line("fail", "files", /trail-\d+\.ndjson is a folder, .*so decisions are missing/),
      unreadable: line("fail", "files", /you may not read and write \S+ndjson/),
      unwritable: line("fail", "files", /you may not write \S+ndjson/),
    },
  },
  {
    path: "$K/off.json",
    isMadeFirst: "kite off --project $HOME/bin",
    broken: {
      empty: line("warn", "off", /off\.json is not as Kite writes it/),
      folder: line("fail", "off", /off\.json is a folder/),
      unreadable: line("fail", "off", /you may not read \S+off\.json, so kite off and kite on do not work/),
      unwritable: line("warn", "off", /Kite is off in/),
    },
  },
  {
    path: "$K/seen",
    broken: {
      unreadable: line("fail", "files", /you may not read and write and open \S+seen/),
      unwritable: line("fail", "files", /you may not write \S+seen, so Kite does not tell/),
    },
  },
  ...["presence.json", "events.ndjson"].map(name => ({
    path: `$K/${name}`,
    isMadeFirst: `[ -e $F ] || : > $F`,
    broken: {
      folder: line("warn", "files", new RegExp(`${name} is a folder, not a regular file, so`)),
      unreadable: line("warn", "files", new RegExp(`you may not read[a-z ]* \\S+${name}, so`)),
      ...(name === "presence.json"
        ? {}
        : { unwritable: line("warn", "files", new RegExp(`you may not write \\S+${name}, so`)) }),
    },
  })),
  {
    path: "$K/hook-failures",
    isMadeFirst: ": > $F",
    broken: { folder: line("warn", "files", /hook-failures is a folder, .*so hooks do not remember/) },
  },
  {
    path: "$K/unheard-ends",
    isMadeFirst: ": > $F",
    broken: {
      folder: line("fail", "ends", /unheard-ends is a folder/),
      unreadable: line("fail", "ends", /you may not read and write \S+unheard-ends, so no daemon hears/),
      unwritable: line("fail", "ends", /you may not write \S+unheard-ends, so no daemon hears/),
    },
  },
  {
    path: "$HOME/.claude/settings.json",
    broken: {
      missing: line("fail", "hooks", /settings\.json was removed/),
      empty: line("fail", "hooks", /settings\.json is empty/),
      folder: line("fail", "hooks", /settings\.json is a folder/),
      unreadable: line("fail", "hooks", /you may not read \S+settings\.json/),
    },
  },
  {
    path: "$HOME/.claude",
    broken: {
      missing: line("fail", "hooks", /settings\.json was removed/),
      empty: line("fail", "hooks", /settings\.json was removed/),
      unreadable: line("fail", "hooks", /you may not read and open \S+\.claude, so neither/),
    },
  },
  {
    path: "$HOME/.claude.json",
    broken: {
      missing: line("warn", "agent tools", /the entry was removed/),
      empty: line("fail", "agent tools", /\.claude\.json is empty/),
      folder: line("fail", "agent tools", /\.claude\.json is a folder/),
      unreadable: line("fail", "agent tools", /you may not read \S+\.claude\.json/),
    },
  },
  {
    path: "$HOME/p/.kite/config.json",
    broken: {
      empty: line("warn", "config", /p\/\.kite\/config\.json is ignored: it is no JSON/, "echo '{}' > $F"),
      folder: line("warn", "config", /p\/\.kite\/config\.json is ignored: it is no regular file/),
      unreadable: line("warn", "config", /p\/\.kite\/config\.json is ignored: no permission/),
    },
  },
  {
    path: "$K",
    isAtStart: true,
    broken: {
      missing: line("fail", "hooks", /runs hooks in \S+bin, which is gone/),
      empty: line("fail", "hooks", /runs hooks in \S+bin, which is gone/),
      unreadable: line("fail", "home", /you may not read and write \S+\.kite \(mode 0000\)/),
      unwritable: line("fail", "home", /you may not read and write \S+\.kite \(mode 0500\)/),
    },
  },
];

/** Kite's entries are gone, and an install cannot write them: the advice names what stands in its way, and mends that. */
const obstacles: readonly (readonly [name: string, lines: string, todo: RegExp])[] = [
  [
    "~/.claude may not be written",
    "chmod a-w $HOME/.claude",
    /you may not write \S+\.claude; .*chmod u\+rwx/,
  ],
  ["bin may not be written", "chmod a-w $K/bin", /you may not write \S+\/bin; .*chmod u\+rwx/],
  ["a folder is in a program's place", "rm $K/bin/mcp; mkdir $K/bin/mcp", /mcp is a folder/],
];

/** A plain user: this one, unless it is root. */
const uid = process.getuid?.() === 0 ? 54321 : process.getuid?.();
let root = "";
/** What the last case left is well. */
let isWell = false;

interface Check {
  readonly check: string;
  readonly result: string;
  readonly detail: string;
  readonly todo?: string;
}

interface Ran {
  readonly checks: readonly Check[];
  readonly found?: readonly Check[];
  readonly done?: readonly { readonly fix: string; readonly failed?: string }[];
}

function sh(lines: string, path = ""): { readonly out: string; readonly said: string } {
  const words = `K=$HOME/.kite
kite() { '${process.execPath}' '${kiteProgram}' "$@"; }
F=${path}
`;
  const ran = spawnSync("/bin/sh", ["-c", `${words}${lines}`], {
    cwd: join(root, "p"),
    env: { HOME: root, PATH: [join(root, "bin"), "/usr/bin", "/bin"].join(":") },
    encoding: "utf8",
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  return { out: ran.stdout, said: `${ran.stdout}${ran.stderr}` };
}

function doctor(flags = ""): Ran {
  const { out, said } = sh(`kite doctor --json ${flags}`);
  if (!out.startsWith("{")) throw new Error(`doctor said: ${said}`);
  return JSON.parse(out);
}

const wrong = (checks: readonly Check[]) =>
  checks
    .filter(({ result }) => result !== "ok")
    .map(({ result, check, detail, todo }) => `${result} ${check}: ${detail} -> ${todo}`);

/** Puts everything back as it was at first, with a daemon that runs. */
function restore(): void {
  sh(`chmod -R u+rwX $K $HOME/.claude $HOME/.claude.json $HOME/p 2>/dev/null
kite down --yes
cd $HOME; rm -rf .kite .claude .claude.json p *.aside .*.aside
cp -a well/. .; kite up`);
}

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "kd-")));
  const script = `#!/bin/sh\nexec '${process.execPath}' '${kiteProgram}' "$@"\n`;
  writeFileSync(join(root, "kite.sh"), script, { mode: 0o755 });
  if (uid !== undefined) chownSync(root, uid, uid);
  spawnSync("mkdir", [join(root, "p")]);
  if (uid !== undefined) chownSync(join(root, "p"), uid, uid);
  sh(`mkdir $HOME/bin .kite; cp ../kite.sh $HOME/bin/kite; git init -q; echo '{}' > .kite/config.json
kite install; kite up; kite task add one; kite down --yes; kite up; kite task add two
echo '{"logLevel": "info"}' > $K/config.json; chmod 600 $K/config.json; printf '{"version":1,"files":{}}' > $K/trusted.json
kite down --yes; rm $K/down; mkdir $HOME/well; cp -a $K $HOME/.claude $HOME/.claude.json $HOME/p $HOME/well/; kite up`);
});

afterAll(() => {
  sh("chmod -R u+rwX $HOME; kite down --yes");
  leaveBehind(join(root, ".kite"));
  rmSync(root, { recursive: true, force: true });
});

const cases = rows.flatMap(row =>
  (Object.keys(breakages) as Breakage[]).map(breakage => [`${row.path} ${breakage}`, row, breakage] as const),
);

it("finds nothing wrong with an installation that is well", () => {
  expect(wrong(doctor().checks)).toEqual([]);
  isWell = true;
});

describe("doctor, for each file", () => {
  it.each(cases)("%s", (_name, { path, broken, isAtStart, isMadeFirst }, breakage) => {
    if (!isWell) restore();
    isWell = false;
    const wanted = broken[breakage];
    if (isAtStart) sh("kite down --yes; rm $K/down");
    const said = sh(`${isMadeFirst ?? ""}\n${breakages[breakage]}`, path).said;
    if (isAtStart) sh("kite up");
    const ran = doctor(wanted?.byHand === undefined ? "--fix --yes" : "");
    const found = ran.found ?? ran.checks;
    const lines = wrong(found);
    if (wanted === undefined) {
      expect(lines, said).toEqual([]);
    } else {
      const [result, check, detail] = wanted.line;
      const like = {
        result,
        check,
        detail: expect.stringMatching(detail),
        todo: expect.stringMatching(/\w/),
      };
      expect(found, said).toContainEqual(expect.objectContaining(like));
      // No line gives a cause that is not there.
      expect(lines.join("\n")).not.toMatch(/another version|less busy|cannot be checked/);
      // What a line advises is done without a failure.
      expect((ran.done ?? []).filter(({ failed }) => failed !== undefined)).toEqual([]);
    }
    if (wanted?.byHand === "restore") return;
    if (wanted?.byHand !== undefined) sh(wanted.byHand, path);
    expect(wrong(wanted?.byHand === undefined ? ran.checks : doctor().checks)).toEqual([]);
    const clean =
      "find $HOME -name '*.aside*' -exec rm -rf {} +; [ -e $K/off.json ] && kite on --project $HOME/bin";
    const isThere = sh(`${clean}\n[ -s $F ] && chmod u+w $F && echo there`, path).out.endsWith("there\n");
    isWell = isThere && (wanted !== undefined || breakage === "unwritable");
  });
});

it.each(obstacles)("advice to install works: %s", (_name, lines, todo) => {
  restore();
  isWell = false;
  sh(`echo '{}' > $HOME/.claude/settings.json; ${lines}`);
  const ran = doctor("--fix --yes");
  expect(ran.found).toContainEqual(
    expect.objectContaining({
      check: "hooks",
      detail: expect.stringContaining("lost Kite's entries"),
      todo: expect.stringMatching(todo),
    }),
  );
  expect((ran.done ?? []).filter(({ failed }) => failed !== undefined)).toEqual([]);
  expect(wrong(ran.checks)).toEqual([]);
});
