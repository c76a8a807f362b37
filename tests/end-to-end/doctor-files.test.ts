/**
 * Every file that Kite needs, broken in each way: missing, empty, a folder in its place, not readable, not writable. A row
 * says which line doctor prints; after its advice is followed, the next look finds all well. For one row of each kind of
 * advice, the program `kite doctor --fix --yes` does it.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PlainUser } from "./plain-user.ts";

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
  /** The daemon removes it when it looks next: the case waits for that where nothing keeps the daemon from it. */
  readonly isTaken?: true;
  /** Agents' tools are installed, too: doctor starts them at each look. */
  readonly hasTools?: true;
  /** The breakage that the program mends: one row of each kind of advice. */
  readonly byProgram?: Breakage;
}

const line = (result: "warn" | "fail", check: string, detail: RegExp, byHand?: string): Line =>
  byHand === undefined ? { line: [result, check, detail] } : { line: [result, check, detail], byHand };
const hook = (detail: RegExp) => line("fail", "hook client", detail);

const rows: readonly Row[] = [
  {
    path: "$K/bin",
    byProgram: "missing",
    hasTools: true,
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
    hasTools: true,
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
    byProgram: "unreadable",
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
    hasTools: true,
    broken: {
      empty: line("fail", "agent tools", /servers\.json is empty/),
      folder: line("fail", "agent tools", /servers\.json is a folder/),
      unreadable: line("fail", "agent tools", /you may not read \S+servers\.json/),
    },
  },
  {
    path: "$K/daemon.log",
    byProgram: "folder",
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
    isTaken: true,
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
    byProgram: "empty",
    broken: {
      missing: line("fail", "hooks", /settings\.json was removed/),
      empty: line("fail", "hooks", /settings\.json is empty/),
      folder: line("fail", "hooks", /settings\.json is a folder/),
      unreadable: line("fail", "hooks", /you may not read \S+settings\.json/),
    },
  },
  {
    path: "$HOME/.claude",
    hasTools: true,
    broken: {
      missing: line("fail", "hooks", /settings\.json was removed/),
      empty: line("fail", "hooks", /settings\.json was removed/),
      unreadable: line("fail", "hooks", /you may not read and open \S+\.claude, so neither/),
    },
  },
  {
    path: "$HOME/.claude.json",
    hasTools: true,
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
    hasTools: true,
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

interface Check {
  readonly check: string;
  readonly result: string;
  readonly detail: string;
  readonly todo?: string;
  readonly fix?: string;
}

interface Ran {
  readonly checks: readonly Check[];
  readonly found?: readonly Check[];
  readonly done?: readonly { readonly fix: string; readonly failed?: string }[];
}

/** What `--fix` did, by its program or by following its lines. */
interface Mended {
  readonly found: readonly Check[];
  readonly checks: readonly Check[];
  readonly failed: readonly string[];
}

/** As `--fix` itself. */
const roundsMax = 4;

const wrong = (checks: readonly Check[]) =>
  checks
    .filter(({ result }) => result !== "ok")
    .map(({ result, check, detail, todo }) => `${result} ${check}: ${detail} -> ${todo}`);

/** An installation that is well, broken and put back for each case. */
class Installation {
  readonly user: PlainUser;
  /** What the last case left unwell: nothing, what the daemon does not keep open, or everything. */
  unwell: "nothing" | "some" | "all" = "all";

  static async make(hasTools: boolean): Promise<Installation> {
    const user = await PlainUser.enter();
    user.sh("mkdir .kite; echo '{}' > .kite/config.json");
    const lines = ["install", "up", "task add one", "down --yes", "up", "task add two"];
    if (!hasTools) lines[0] = "install --no-mcp";
    for (const words of lines) await user.kite(...words.split(" "));
    user.sh(`echo '{"logLevel": "info"}' > $K/config.json; chmod 600 $K/config.json`);
    user.sh(`printf '{"version":1,"files":{}}' > $K/trusted.json`);
    await user.kite("down", "--yes");
    user.sh(
      "rm $K/down; cd $HOME; mkdir well; for one in .kite .claude .claude.json p; do [ ! -e $one ] || cp -a $one well/; done",
    );
    return new Installation(user);
  }

  private constructor(user: PlainUser) {
    this.user = user;
  }

  /** Makes everything as it was at first, with a daemon that runs, or with none. */
  async enter(isRunning: boolean): Promise<void> {
    const { user, unwell } = this;
    this.unwell = "all";
    if (unwell === "nothing" && isRunning) return;
    const writable = "chmod -R u+rwX $K $HOME/.claude $HOME/.claude.json $HOME/p 2>/dev/null; cd $HOME";
    const aside = ".claude .claude.json p/* p/.kite *.aside .*.aside";
    if (unwell === "some" && isRunning) {
      const paths = atRest.map(name => `.kite/${name}`).join(" ");
      const copied = [...atRest.map(name => `.kite/${name}`), ".claude", ".claude.json", "p"].join(" ");
      user.sh(`${writable}; rm -rf ${paths} .kite/*.aside ${aside}; cd well
for one in ${copied}; do [ ! -e $one ] || cp -a $one $HOME/$(dirname $one)/; done`);
      return;
    }
    if (unwell !== "nothing") user.sh(writable);
    await user.kite("down", "--yes");
    if (unwell === "nothing") user.sh("rm $K/down");
    else user.sh(`cd $HOME; rm -rf .kite ${aside}; cp -a well/. .`);
    if (isRunning) await user.kite("up");
  }

  async doctor(): Promise<readonly Check[]> {
    const { out, err } = await this.user.kite("doctor", "--json");
    if (!out.startsWith("{")) throw new Error(`doctor said: ${out}${err}`);
    const { checks }: Ran = JSON.parse(out);
    return checks;
  }

  /** Follows the advice of doctor's lines, and looks again, until there is none that was not followed yet. */
  async follow(): Promise<Mended> {
    const found = await this.doctor();
    let checks = found;
    const failed: string[] = [];
    const followed = new Set<string>();
    for (let round = 0; round < roundsMax; round += 1) {
      const fresh = new Set(
        checks.flatMap(({ fix }) => (fix === undefined || followed.has(fix) ? [] : [fix])),
      );
      if (fresh.size === 0) break;
      for (const fix of fresh) {
        followed.add(fix);
        const why = await this.user.follow(fix);
        if (why !== null) failed.push(why);
      }
      checks = await this.doctor();
    }
    return { found, checks, failed };
  }

  /** The same by the program. */
  fix(): Mended {
    const { out, said } = this.user.sh("kite doctor --json --fix --yes");
    if (!out.startsWith("{")) throw new Error(`doctor said: ${said}`);
    const { checks, found = checks, done = [] }: Ran = JSON.parse(out);
    return { checks, found, failed: done.flatMap(({ failed }) => failed ?? []) };
  }

  async look(): Promise<Mended> {
    const checks = await this.doctor();
    return { checks, found: checks, failed: [] };
  }
}

/** What a running daemon does not keep open below `$K`. */
const atRest = [
  ..."bin installs.json servers.json config.json trusted.json off.json".split(" "),
  ..."seen presence.json events.ndjson hook-failures unheard-ends".split(" "),
];

const isAtRest = (path: string) =>
  path.startsWith("$HOME/") || atRest.some(name => `${path}/`.startsWith(`$K/${name}/`));

const folders: ReadonlySet<string> = new Set(
  ["bin", "journal", "trail", "seen"].map(name => `$K/${name}`).concat("$K", "$HOME/.claude"),
);

const cases = rows.flatMap(row =>
  (Object.keys(breakages) as Breakage[])
    // Nothing is changed where a folder is to take a folder's place.
    .filter(breakage => breakage !== "folder" || !folders.has(row.path))
    .map(breakage => [`${row.path} ${breakage}`, row, breakage] as const),
);

describe.each([true, false])("doctor, with agents' tools: %s", hasTools => {
  let installation: Installation;
  beforeAll(async () => {
    installation = await Installation.make(hasTools);
  });
  afterAll(() => installation.user.leave());

  it("finds nothing wrong with an installation that is well", async () => {
    await installation.enter(true);
    expect(wrong(await installation.doctor())).toEqual([]);
    installation.unwell = "nothing";
  });

  it.each(cases.filter(([, row]) => (row.hasTools ?? false) === hasTools))(
    "%s",
    async (_name, row, breakage) => {
      const { path, broken, isAtStart, isMadeFirst, isTaken, byProgram } = row;
      const { user } = installation;
      await installation.enter(!isAtStart);
      const wanted = broken[breakage];
      const { said } = user.sh(`${isMadeFirst ?? ""}\n${breakages[breakage]}`, path);
      if (isAtStart) await user.kite("up");
      if (isTaken && wanted === undefined) user.sh("while [ -e $F ]; do sleep 0.1; done", path);
      const byHand = wanted?.byHand;
      const mended = await (wanted === undefined || byHand !== undefined
        ? installation.look()
        : byProgram === breakage
          ? installation.fix()
          : installation.follow());
      const lines = wrong(mended.found);
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
        expect(mended.found, said).toContainEqual(expect.objectContaining(like));
        // No line gives a cause that is not there.
        expect(lines.join("\n")).not.toMatch(/another version|less busy|cannot be checked/);
        // What a line advises is done without a failure.
        expect(mended.failed).toEqual([]);
      }
      if (byHand === "restore") return;
      if (byHand !== undefined) user.sh(byHand, path);
      expect(wrong(byHand === undefined ? mended.checks : await installation.doctor())).toEqual([]);
      const clean = "find $HOME -name '*.aside*' -exec rm -rf {} +";
      const isThere = user
        .sh(`${clean}\n[ -s $F ] && chmod u+w $F && echo there`, path)
        .out.endsWith("there\n");
      const isAsAtFirst = isThere && isMadeFirst?.startsWith("kite off") !== true;
      if (isAsAtFirst && (wanted !== undefined || breakage === "unwritable")) installation.unwell = "nothing";
      else if (isAtRest(path)) installation.unwell = "some";
    },
  );

  it.each(hasTools ? obstacles : [])("advice to install works: %s", async (_name, lines, todo) => {
    await installation.enter(true);
    installation.user.sh(`echo '{}' > $HOME/.claude/settings.json; ${lines}`);
    const { found, checks, failed } = await installation.follow();
    expect(found).toContainEqual(
      expect.objectContaining({
        check: "hooks",
        detail: expect.stringContaining("lost Kite's entries"),
        todo: expect.stringMatching(todo),
      }),
    );
    expect(failed).toEqual([]);
    expect(wrong(checks)).toEqual([]);
  });
});
