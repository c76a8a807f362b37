/** `kite demo` plays four simulated sessions that share files, and tells what happened. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Command } from "commander";
import type { KiteClient } from "../../client/client.ts";
import { ensureDaemon, stopDaemon } from "../../client/launch.ts";
import type { EventLine } from "../../protocol/events.ts";
import { limits } from "../../protocol/limits.ts";
import { kitePaths } from "../../protocol/paths.ts";
import { plain } from "../../protocol/text.ts";
import { type ProcessContext, print, printJson, type Run } from "../context/process-context.ts";
import { neededProgram, ProgramFailed, runProgram } from "../context/programs.ts";
import { ask } from "../context/with-daemon.ts";
import { daemonProgram, dist } from "../version.ts";
import { eventSentence } from "../view/event-lines.ts";
import { clean, duration } from "../view/text.ts";

// What happened in the demo, told from the events that the daemon sent and from what the files contain.

/** One edit as its session saw it. */
export interface Act {
  readonly who: string;
  /** The file's name; every file of the demo is in one directory. */
  readonly file: string;
  readonly allowed: boolean;
}

/** A `git stash` as its session saw it. */
interface Stash {
  readonly who: string;
  readonly allowed: boolean;
}

/** What a play was. */
interface Played {
  readonly acts: readonly Act[];
  readonly stash: Stash;
}

/** Why a lock was free, by the cause that the daemon names. */
const causes: Readonly<Record<string, (holder: string) => string>> = {
  "turn ended": holder => `${holder}'s turn had ended`,
  yielded: holder => `${holder} did not edit it any more`,
  anchor_gone: holder => `${holder}'s process was gone`,
};

/** Returns a sentence for each lock that was granted after a wait and for each edit that was refused. */
export function waits(acts: readonly Act[], events: readonly EventLine[]): string[] {
  const granted = events.flatMap((event, i) => {
    if (event.event !== "lock_granted" || event.waitedMs === 0) return [];
    const file = basename(event.paths[0] ?? "");
    const waited = `${clean(event.holder.name)} waited ${duration(event.waitedMs)} for ${file} and got it`;
    const released = events.slice(0, i).findLast(e => e.event === "lock_released" && isOf(e, file));
    if (released?.event !== "lock_released") return [`${waited}.`];
    const holder = clean(released.holder.name);
    const why = causes[released.cause]?.(holder) ?? `${holder} released it (${clean(released.cause)})`;
    return [`${waited} when ${why}.`];
  });
  const refused = acts.filter(({ allowed }) => !allowed);
  return [...granted, ...refused.map(({ who, file }) => `Kite refused ${who}'s edit of ${file}.`)];
}

/** Returns what became of the `git stash`, which would have taken the edits of the others along. */
export function stashed({ acts, stash: { who, allowed } }: Played): string {
  if (allowed) return `${who}'s git stash ran.`;
  const others = new Set(acts.filter(act => act.allowed && act.who !== who).map(act => act.who));
  const whose = [...others]
    .sort()
    .join(" and ")
    .replace(/ and (?=.* and )/g, ", ");
  return `Kite did not let ${who}'s git stash run: it would have taken the edits of ${whose} out of the checkout.`;
}

/** Returns what the files say of the edits that were allowed: `texts` by file name, one line of each edit's author. */
export function kept(acts: readonly Act[], texts: ReadonlyMap<string, string>): string {
  const made = acts.filter(({ allowed }) => allowed);
  const lost = [...texts].flatMap(([file, text]) => {
    const lines = text.split("\n");
    return [...new Set(made.map(({ who }) => who))].flatMap(who => {
      const wanted = made.filter(act => act.who === who && act.file === file).length;
      const found = lines.filter(line => line === lineOf(who)).length;
      return found === wanted ? [] : [`${file} has ${found} of ${wanted} edits of ${who}`];
    });
  });
  const refused = acts.length - made.length;
  const all = `${made.length} edits were made and ${refused} refused`;
  return lost.length === 0 ? `${all}; every edit made is in its file.` : `${all}; ${lost.join(", ")}.`;
}

/** The line that an edit of this session adds. */
export function lineOf(who: string): string {
  return `// ${who} was here`;
}

function isOf(event: EventLine, file: string): boolean {
  return "paths" in event && event.paths.some(path => path.endsWith(`/${file}`));
}

// A simulated session of `kite demo`.

/** The demo's directories and hook client. */
interface Stage {
  readonly repository: string;
  /** Runs git in the repository. */
  readonly git: (...args: readonly string[]) => Promise<unknown>;
  readonly home: string;
  /** The hook client, as an installed entry runs it: program and arguments. */
  readonly hook: readonly [string, ...string[]];
}

/**
 * One simulated session: a process that stands for the client, and the real hook client for each of its events. The
 * session edits real files. Its process ends when the demo's process ends.
 */
class DemoSession {
  readonly name: string;
  readonly id: string;
  readonly #stage: Stage;
  readonly #process: ChildProcess;
  #prompts = 0;
  #uses = 0;

  constructor(stage: Stage, name: string) {
    this.name = name;
    this.id = name;
    this.#stage = stage;
    this.#process = spawn(process.execPath, ["-e", "process.stdin.resume()"], {
      stdio: ["pipe", "ignore", "ignore"],
    });
  }

  async begin(): Promise<void> {
    await this.#event({ hook_event_name: "SessionStart", source: "startup" });
  }

  async prompt(): Promise<void> {
    this.#prompts += 1;
    await this.#event({ hook_event_name: "UserPromptSubmit", prompt: "go on" });
  }

  /** Sends the hook event before an edit, edits the file if Kite allows it, then sends the event after it. */
  async edit(file: string): Promise<Act> {
    this.#uses += 1;
    const path = join(this.#stage.repository, file);
    const use = {
      tool_name: "Edit",
      tool_use_id: `toolu_${this.id}_${this.#uses}`,
      tool_input: { file_path: path, old_string: "end", new_string: `${this.name}\nend`, replace_all: false },
    };
    const reply = await this.#event({ hook_event_name: "PreToolUse", ...use });
    const allowed = !reply.includes('"deny"');
    if (allowed) {
      const text = await readFile(path, "utf8");
      await writeFile(path, text.replace("end\n", `${lineOf(this.name)}\nend\n`));
      await this.#event({ hook_event_name: "PostToolUse", ...use, tool_response: {} });
    }
    return { who: this.name, file, allowed };
  }

  /** Sends the hook event before `git stash`, runs it if Kite lets it through, then sends the event after it. */
  async stash(): Promise<Stash> {
    this.#uses += 1;
    const use = {
      tool_name: "Bash",
      tool_use_id: `toolu_${this.id}_${this.#uses}`,
      tool_input: { command: "git stash" },
    };
    const reply = await this.#event({ hook_event_name: "PreToolUse", ...use });
    const allowed = !reply.includes('"deny"');
    if (allowed) {
      await this.#stage.git("stash");
      await this.#event({ hook_event_name: "PostToolUse", ...use, duration_ms: 1, tool_response: {} });
    }
    return { who: this.name, allowed };
  }

  async stop(): Promise<void> {
    await this.#event({ hook_event_name: "Stop", stop_hook_active: false, background_tasks: [] });
  }

  async end(): Promise<void> {
    await this.#event({ hook_event_name: "SessionEnd", reason: "prompt_input_exit" });
    await this.kill();
  }

  /** Kills the process without an event, as a closed terminal or a crash does. */
  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await gone;
  }

  /** Runs the hook client with one event on its standard input; returns what it printed. */
  async #event(fields: Readonly<Record<string, unknown>>): Promise<string> {
    const { repository, home, hook } = this.#stage;
    const prompt = this.#prompts === 0 ? {} : { prompt_id: `prompt-${this.id}-${this.#prompts}` };
    const event = { session_id: this.id, cwd: repository, permission_mode: "default", ...prompt, ...fields };
    const [program, ...args] = hook;
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      KITE_HOME: home,
      CLAUDE_PID: `${this.#process.pid}`,
    };
    const client = spawn(program, args, { cwd: repository, env, stdio: ["pipe", "pipe", "inherit"] });
    let output = "";
    client.stdout.on("data", chunk => {
      output += String(chunk);
    });
    // A hook client that fails open may not read all of it: only its answer counts.
    client.stdin.on("error", () => {});
    client.stdin.end(JSON.stringify(event));
    await once(client, "close");
    return output;
  }
}

// The script of `kite demo`.

/** The demo's `yieldMs`, short because people watch. */
const demoYieldMs = 4_000;
/** Pause in milliseconds in which people read a caption and what follows from it. */
const beatMs = 900;

/** The files that the demo's sessions edit. */
const demoFiles = ["cart.ts", "price.ts"] as const;

type DemoFile = (typeof demoFiles)[number];

/** What the play needs of the one who shows it. */
interface Show {
  /** Prints what comes next. */
  readonly caption: (text: string) => void;
  /** Prints what the play itself saw. */
  readonly tell: (text: string) => void;
  /** Resolves when the session is in the queue of a file, and all events until then are on the screen. */
  readonly queued: (who: string) => Promise<void>;
  /** Resolves when all events of what has happened are on the screen. */
  readonly flush: () => Promise<void>;
}

/**
 * Plays four sessions over two files. One waits for another's turn to end; one gets a lock that its holder no longer
 * uses. One is killed and a waiter gets its lock; one would stash the work of all. A caption comes before what it tells
 * of, and all that happens then is on the screen before the next caption.
 */
async function play(stage: Stage, show: Show): Promise<Played> {
  const cast = castOf(stage);
  const scene = new Scene(show);
  const all = Object.values(cast);
  try {
    await scene.step("Four sessions begin a turn in one checkout: ada, ben, cleo and dan.", async () => {
      await Promise.all(all.map(session => session.begin()));
      await Promise.all(all.map(session => session.prompt()));
    });
    await playTurnEnd(scene, cast);
    await playYield(scene, cast);
    await playKill(scene, cast);
    const stash = await playStash(scene, cast, show);
    const others = [cast.ada, cast.cleo, cast.dan];
    await scene.step("The others end.", async () => {
      await Promise.all(others.map(session => session.stop()));
      await Promise.all(others.map(session => session.end()));
    });
    return { acts: await Promise.all(scene.acts), stash };
  } finally {
    await Promise.all(all.map(session => session.kill()));
    // A play that failed says why; the edits that were under way then have nothing to add.
    await Promise.allSettled(scene.acts);
  }
}

type Cast = Readonly<Record<"ada" | "ben" | "cleo" | "dan", DemoSession>>;

function castOf(stage: Stage): Cast {
  return {
    ada: new DemoSession(stage, "ada"),
    ben: new DemoSession(stage, "ben"),
    cleo: new DemoSession(stage, "cleo"),
    dan: new DemoSession(stage, "dan"),
  };
}

/** Steps with their captions, and the edits that were begun in them. */
class Scene {
  readonly acts: Promise<Act>[] = [];
  readonly #show: Show;

  constructor(show: Show) {
    this.#show = show;
  }

  async step(text: string, work: () => Promise<unknown>): Promise<void> {
    this.#show.caption(text);
    await pause(beatMs);
    await work();
    await this.#show.flush();
  }

  edit(who: DemoSession, file: DemoFile): Promise<Act> {
    const act = who.edit(file);
    this.acts.push(act);
    return act;
  }

  /** Begins an edit that waits for another session: it is in the queue when this resolves, or was answered at once. */
  async editBehind(who: DemoSession, file: DemoFile): Promise<readonly Promise<Act>[]> {
    const act = this.edit(who, file);
    await Promise.race([this.#show.queued(who.name), act]);
    return [act];
  }
}

/** An edit waits until the holder's turn ends. */
async function playTurnEnd(scene: Scene, { ada, ben }: Cast): Promise<void> {
  await scene.step("ada edits cart.ts.", () => scene.edit(ada, "cart.ts"));
  let waiting: readonly Promise<Act>[] = [];
  await scene.step("ben wants to edit it, too. His edit waits while ada's turn lasts.", async () => {
    waiting = await scene.editBehind(ben, "cart.ts");
  });
  await scene.step("ada edits cart.ts once more.", () => scene.edit(ada, "cart.ts"));
  await scene.step("ada's turn ends.", async () => {
    await ada.stop();
    await Promise.all(waiting);
  });
}

/** An edit gets a lock that its holder no longer uses. */
async function playYield(scene: Scene, { cleo, dan }: Cast): Promise<void> {
  await scene.step("cleo edits price.ts, and goes on with other work in the same turn.", () =>
    scene.edit(cleo, "price.ts"),
  );
  const left = `${demoYieldMs / 1000} s after cleo's last edit of it`;
  await scene.step(`dan wants to edit it. Kite lets him, in the middle of cleo's turn, ${left}.`, () =>
    scene.edit(dan, "price.ts"),
  );
}

/** An edit gets the lock of a session whose process was killed. */
async function playKill(scene: Scene, { ada, ben }: Cast): Promise<void> {
  let waiting: readonly Promise<Act>[] = [];
  await scene.step("ben edits cart.ts again, and ada waits for it.", async () => {
    await scene.edit(ben, "cart.ts");
    await ada.prompt();
    waiting = await scene.editBehind(ada, "cart.ts");
  });
  await scene.step("Somebody kills ben's process in the middle of his turn.", async () => {
    await ben.kill();
    await Promise.all(waiting);
  });
}

/** A `git stash` would take the work of all. */
async function playStash(scene: Scene, { cleo }: Cast, { tell }: Show): Promise<Stash> {
  let stash: Stash = { who: cleo.name, allowed: true };
  await scene.step(
    "cleo wants to put her work aside: git stash, in the checkout that all four share.",
    async () => {
      stash = await cleo.stash();
      tell(
        stash.allowed
          ? "stashed   everything in the checkout, by cleo"
          : "denied    git stash of cleo: others have uncommitted work there",
      );
    },
  );
  return stash;
}

interface DemoFlags {
  readonly json?: boolean;
}

export function add(command: Command, run: Run): void {
  command
    .description("watch four simulated sessions share a checkout, for about 20 seconds")
    .option("--json", "print one JSON object at the end, and nothing else")
    .addHelpText(
      "after",
      "\nThe demo runs in a temporary directory with its own daemon and touches none of your files.\n\nExample:\n  $ kite demo",
    )
    .action((flags: DemoFlags) => run(world => demo(world, flags)));
}

async function demo(world: ProcessContext, flags: DemoFlags): Promise<number> {
  const root = await mkdtemp(join(tmpdir(), "kite-demo-"));
  try {
    const stage = await stageIn(world, root);
    const { home, repository } = stage;
    const paths = kitePaths({ KITE_HOME: home });
    const env = { PATH: world.env["PATH"], HOME: root, KITE_HOME: home, KITE_YIELD_MS: `${demoYieldMs}` };
    const { client } = await ensureDaemon({ paths, daemonProgram, env, name: "kite demo" });
    const events: EventLine[] = [];
    const show = showOf(client, events, lines => {
      if (flags.json !== true) print(world, lines);
    });
    await ask(client, "subscribe", { events: ["lock_granted", "lock_queued", "lock_released"] });
    const played = await play(stage, show);
    const { acts } = played;
    const texts = new Map<string, string>();
    for (const file of demoFiles) texts.set(file, await readFile(join(repository, file), "utf8"));
    const lines = [...waits(acts, events), stashed(played), kept(acts, texts)];
    await stopDaemon(client, false);
    client.close();
    if (flags.json) printJson(world, { lines });
    else print(world, ending(lines));
    return 0;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** Makes a repository in `root` with one commit of the demo's files. */
async function stageIn(world: ProcessContext, root: string): Promise<Stage> {
  const repository = join(root, "shop");
  await mkdir(repository, { recursive: true });
  for (const file of demoFiles) await writeFile(join(repository, file), "begin\nend\n");
  const git = gitIn(world, root, repository);
  await git("init", "-q");
  await git("add", ".");
  await git("-c", "user.name=kite", "-c", "user.email=kite@localhost", "commit", "-qm", "Begin a shop");
  const budget = `${limits.hookWriteBudgetMs}`;
  const hook = [process.execPath, join(dist, "hook.cjs"), budget] as const;
  return { repository, home: join(root, "kite"), git, hook };
}

/** Collects the daemon's events in `events`, and prints with `say` what they and the play tell. */
function showOf(client: KiteClient, events: EventLine[], say: (lines: readonly string[]) => void): Show {
  let onQueued = (_who: string) => {};
  client.onEvent(event => {
    events.push(event);
    const sentence = eventSentence(event, path => basename(path));
    // The guard locks git's own index for a moment: that is no file of the scene.
    const isGits = "paths" in event && event.paths.some(path => path.includes("/.git/"));
    if (sentence !== null && !isGits) say([`    ${sentence}`]);
    if (event.event !== "lock_queued") return;
    onQueued(event.waiter.name);
  });
  return {
    caption: text => say(["", text]),
    tell: text => say([`    ${text}`]),
    queued: who =>
      new Promise(resolve => {
        onQueued = name => {
          if (name === who) resolve();
        };
      }),
    // Events come before the answer to a later request.
    flush: async () => {
      await ask(client, "ping", {});
    },
  };
}

function ending(lines: readonly string[]): string[] {
  return [
    "",
    "What happened:",
    ...lines.map(line => `  ${line}`),
    "",
    "Go on with:",
    "  kite install   connects your agents; then open two sessions in one repository",
    "  kite watch     shows who does what",
  ];
}

/** Runs git in the demo's repository, without the settings of whoever watches. */
function gitIn({ env }: ProcessContext, root: string, cwd: string) {
  const own = { PATH: env["PATH"], HOME: root, GIT_CONFIG_NOSYSTEM: "1" };
  const program = neededProgram("git", own, cwd);
  return async (...args: readonly string[]): Promise<void> => {
    const { code, output } = await runProgram(program, args, { cwd, env: own });
    if (code !== 0) throw new ProgramFailed(`git ${args[0]} failed in the demo: ${plain(output)}`, output);
  };
}
