/**
 * Three sessions in one checkout that edit the same three files and use git as agents do. Each git line goes through the
 * hooks; a session whose line is refused runs the form that the refusal names, and from then on uses that form at once.
 * Counted are refusals, refusals without a form that works, and commits; each commit is compared byte by byte: it has its
 * author's lines alone.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Bench } from "./processes.ts";
import { figure, plain, type Tables, table } from "./report.ts";
import { ask } from "./talk.ts";

const sessions = ["ann", "bob", "cyd"] as const;
const files = ["a.ts", "b.ts", "c.ts"] as const;
/** Lines of each session in each file: no two sessions touch the same. */
const linesEach = 20;

type Session = (typeof sessions)[number];

/** What a step of a session's work is for: a form that was learned for it takes the git line's place. */
type Purpose = "commit" | "test" | "drop" | "look" | "branch";

interface Step {
  readonly purpose: Purpose;
  readonly line: string;
  /** The files that the session edits first. */
  readonly edits: readonly string[];
}

function stepsOf(session: Session): readonly Step[] {
  const one = files[sessions.indexOf(session)] ?? "a.ts";
  const commit = (n: number, line: string, edits: readonly string[] = files): Step => ({
    purpose: "commit",
    line: line.replace("MESSAGE", `-m '${session} ${n}'`),
    edits,
  });
  const look = (line: string): Step => ({ purpose: "look", line, edits: [] });
  return [
    look("git status --short"),
    commit(1, "git add -A && git commit -q MESSAGE"),
    look("git log --oneline -3"),
    { purpose: "test", line: "git stash; true; git stash pop", edits: files },
    look("git diff --stat"),
    commit(2, "git commit -qa MESSAGE", []),
    { purpose: "drop", line: `git checkout -- ${one}`, edits: [one] },
    { purpose: "test", line: "git stash -q && true && git stash pop -q", edits: [one] },
    commit(3, `git add ${one} && git commit -q MESSAGE`, [one]),
    { purpose: "branch", line: `git switch -q -c ${session}-topic`, edits: [one] },
    look("git branch --show-current"),
    { purpose: "drop", line: "git reset -q --hard", edits: [] },
    commit(4, "git add . && git commit -q MESSAGE"),
    { purpose: "test", line: "git stash; true; git stash pop", edits: [one] },
    { purpose: "drop", line: "git restore .", edits: [] },
    look("git status --short"),
    commit(5, `git add ${files.join(" ")} && git commit -q MESSAGE`),
    look("git log --oneline -1"),
  ];
}

interface Counts {
  lines: number;
  refused: number;
  /** Refused lines with no form that did their work. */
  lost: number;
  commits: number;
  asked: number;
  /** Commits with a line of another one. */
  foreign: number;
}

class Scene {
  readonly counts: Counts = { lines: 0, refused: 0, lost: 0, commits: 0, asked: 0, foreign: 0 };
  readonly #cwd: string;
  readonly #home: string;
  readonly #bin: string;
  readonly #dist: string;
  readonly #learned = new Map<string, string>();
  #uses = 0;
  #writes = 0;

  constructor(dir: string, home: string, dist: string) {
    this.#cwd = join(dir, "shared");
    this.#home = home;
    this.#dist = dist;
    this.#bin = join(dir, "bin");
    mkdirSync(this.#cwd);
    mkdirSync(this.#bin);
    symlinkSync(process.execPath, join(this.#bin, "node"));
    writeFileSync(join(this.#bin, "kite"), `#!/bin/sh\nexec node ${join(this.#dist, "kite.cjs")} "$@"\n`, {
      mode: 0o755,
    });
    for (const file of files) {
      const lines = sessions.flatMap(session =>
        Array.from({ length: linesEach }, (_, n) => `${session} ${n}: old\n`),
      );
      writeFileSync(join(this.#cwd, file), lines.join(""));
    }
    this.#shell("ann", "git init -q -b main && git add -A && git commit -qm first");
  }

  async step(session: Session, { purpose, line, edits }: Step): Promise<void> {
    for (const file of edits) await this.#edit(session, file);
    const { counts } = this;
    const form = this.#learned.get(`${session} ${purpose}`);
    const typed = form === undefined ? line : asForm(form, line);
    if (purpose === "commit") counts.asked += 1;
    if (purpose !== "look") counts.lines += 1;
    const said = await this.#line(session, typed);
    if (said === null) {
      this.#judge(session, purpose, line);
      return;
    }
    counts.refused += 1;
    const [, own] = /: (\(?(?:cd \S+ && )?kite (?:commit|undo|try|move)\b.*|git .* -- .*)$/m.exec(said) ?? [];
    if (own === undefined || (await this.#line(session, own)) !== null) {
      counts.lost += 1;
      return;
    }
    if (/^kite (?:commit|undo|try)/.test(own)) this.#learned.set(`${session} ${purpose}`, own);
    this.#judge(session, purpose, line);
  }

  async starts(session: Session): Promise<void> {
    await this.#event(session, { hook_event_name: "SessionStart", source: "startup" });
    await this.#event(session, { hook_event_name: "UserPromptSubmit", prompt: "work" });
  }

  /** The turn is over: the session's work stays, its locks do not. */
  async stops(session: Session): Promise<void> {
    await this.#event(session, { hook_event_name: "Stop" });
  }

  /** Whether the last commit is the session's, and has its lines alone. */
  #judge(session: Session, purpose: Purpose, line: string): void {
    if (purpose !== "commit") return;
    const [, message = ""] = /-m '([^']*)'/.exec(line) ?? [];
    const shown = this.#shell(session, "git log -1 -p --format=%s -U0").stdout;
    if (!shown.startsWith(`${message}\n`)) {
      this.counts.lost += 1;
      return;
    }
    this.counts.commits += 1;
    const changed = shown.match(/^[-+](?![-+]).*$/gm) ?? [];
    if (changed.some(one => !one.slice(1).startsWith(`${session} `))) this.counts.foreign += 1;
  }

  async #edit(session: Session, file: string): Promise<void> {
    this.#writes += 1;
    const path = join(this.#cwd, file);
    const call = this.#call("Edit", { file_path: path });
    await this.#event(session, { hook_event_name: "PreToolUse", ...call });
    const n = this.#writes % linesEach;
    const text = readFileSync(path, "utf8");
    writeFileSync(
      path,
      text.replace(new RegExp(`^${session} ${n}: .*$`, "m"), `${session} ${n}: ${this.#writes}`),
    );
    await this.#event(session, { hook_event_name: "PostToolUse", tool_response: {}, ...call });
  }

  /** Runs the line as the client would; returns what was said if it was refused. */
  async #line(session: Session, command: string): Promise<string | null> {
    const call = this.#call("Bash", { command });
    const said = await this.#event(session, { hook_event_name: "PreToolUse", ...call });
    if (said.includes('"deny"')) return JSON.parse(said).hookSpecificOutput.permissionDecisionReason;
    const { status } = this.#shell(session, command);
    const end = status === 0 ? "PostToolUse" : "PostToolUseFailure";
    await this.#event(session, { hook_event_name: end, tool_response: {}, duration_ms: 5, ...call });
    return status === 0 ? null : "it failed";
  }

  #call(tool_name: string, tool_input: object) {
    this.#uses += 1;
    return { tool_name, tool_input, tool_use_id: `toolu_${this.#uses}` };
  }

  async #event(session: Session, fields: object): Promise<string> {
    const event = {
      session_id: session,
      cwd: this.#cwd,
      prompt_id: "p",
      permission_mode: "default",
      ...fields,
    };
    const [reply] = await ask(join(this.#home, "kite.sock"), [{ type: "hook", event }]);
    return String(reply?.["output"] ?? "");
  }

  #shell(session: Session, line: string): { readonly status: number | null; readonly stdout: string } {
    const who = { NAME: session, EMAIL: `${session}@localhost` };
    const env = {
      PATH: `${this.#bin}:${process.env["PATH"]}`,
      HOME: this.#home,
      KITE_HOME: this.#home,
      KITE_SESSION: session,
      GIT_CONFIG_NOSYSTEM: "1",
      ...Object.fromEntries(Object.entries(who).map(([name, value]) => [`GIT_AUTHOR_${name}`, value])),
      ...Object.fromEntries(Object.entries(who).map(([name, value]) => [`GIT_COMMITTER_${name}`, value])),
    };
    return spawnSync("sh", ["-c", line], { cwd: this.#cwd, env, encoding: "utf8" });
  }
}

/** A form that was learned, with the message or the command of this line; it takes all of the session's own lines. */
function asForm(form: string, line: string): string {
  const [, message] = /-m ('[^']*')/.exec(line) ?? [];
  if (form.startsWith("kite commit")) return `kite commit -m ${message ?? "work"}`;
  return form.startsWith("kite undo") ? "kite undo --all" : form;
}

export async function* hands(dist: string): Tables {
  const bench = new Bench();
  try {
    const home = join(bench.dir, "home");
    await bench.start("kite-daemon", [home, "file"]);
    const scene = new Scene(bench.dir, home, dist);
    for (const session of sessions) await scene.starts(session);
    const all = sessions.map(session => ({ session, steps: stepsOf(session) }));
    const rounds = Math.max(...all.map(({ steps }) => steps.length));
    for (let n = 0; n < rounds; n += 1)
      for (const { session, steps } of all) {
        const step = steps[n];
        if (step === undefined) continue;
        await scene.step(session, step);
        await scene.stops(session);
      }
    const { lines, refused, lost, commits, asked, foreign } = scene.counts;
    yield table(`three sessions, three files, one checkout: ${lines} git lines that write`, [
      figure("refused", refused, { atMost: lines / 2 }, " lines"),
      figure("refused, and no form did the line's work", lost, { atMost: 0 }, " lines"),
      figure("commits", commits, { atLeast: asked }, ` of ${asked}`),
      plain("commits with another one's lines", foreign),
    ]);
  } finally {
    await bench.end();
  }
}
