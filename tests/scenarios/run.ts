/**
 * Plays a transcript: commands, a line of dashes, what came of them, a blank line.
 *
 *     alice: file_lock src/a.ts wait=5s      a request of the session `alice`; `alice/helper` is an agent of hers,
 *     alice#2: edit src/a.ts                 `alice#2` her second terminal, `alice!make` a command of hers,
 *                                            `alice!make.test` one that runs inside it
 *     time +30s                              what is due on the way comes when it is due
 *     daemon restart                         or `daemon killed`
 *     locks                                  who holds and waits for what
 *     alice: task_create c after=a,b         also task_claim, task_done, task_fail, task_retry, task_release; label=x
 *     tasks                                  what each one is, and why
 *     alice: debate_open a,b why?           also debate_challenge, _answer, _evidence, _concede, _close; `as=person`
 *     debates                                where each hypothesis stands
 *     alice: declare a.ts src/ will=split    also role=x team=x task=x reason=x confidence=x plan=a,b question=x drop=a.ts
 *     alice: teammate name=bob team=red      what the client says of her; lead=carol: carol's session leads her
 *     teams                                  who leads whom, and what a lead is to be told of it
 *     declared                               what each one declared, and what they are to be told of it
 *     alice: spawn name=bob task=x           also spawn_idle, _stop, _forget; `s1: register spawn=bob`
 *     agents                                 what each spawned agent is, and why
 *     committed src/a.ts                     git is asked, and nothing uncommitted is left in it
 *     checks test lint commit=c1 dirty=d1    which of them are green in this state
 *     work                                   whose uncommitted work is in which file
 *
 * Behind the dashes: what each one hears (`bob: ...`) and what everybody may see (`* ...`), in order. Tokens are
 * written without the name of the store.
 */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, Reply } from "../../daemon/core/tables/entries.ts";
import type { LockRequest } from "../../daemon/core/tables/locks.ts";
import { actorRow } from "../../daemon/core/tables/naming.ts";
import type { WriteNote } from "../../daemon/core/tables/uncommitted.ts";
import { Engine } from "../../daemon/engine/engine.ts";
import { limits } from "../../protocol/limits.ts";
import { microtasks } from "../journal/commands.ts";
import { SimulatedClock } from "../simulation/host.ts";
import { lockOf } from "../unit/core-world.ts";
import { MemoryPlace } from "../unit/engine-world.ts";
import { checkCommand, shownChecks } from "./checks.ts";
import { debateCommand, shownDebates } from "./debates.ts";
import { declareCommand, declareTold, shownDeclarations } from "./declares.ts";
import { shownSpawns, spawnCommand, spawnNamed } from "./spawns.ts";
import { shownTalk, talkCommand } from "./talk.ts";
import { shownTasks, taskCommand, taskTold, type Words } from "./tasks.ts";
import { shownTeams } from "./teams.ts";
import { nameOf, words } from "./words.ts";

/** The transcript once more, with what happens now. */
export async function play(text: string): Promise<string> {
  const scene = new Scene();
  await scene.start();
  const blocks: string[] = [];
  for (const block of text.trim().split(/\n\s*\n/)) {
    const [asked = ""] = block.split(/^-+$/m);
    const commands = asked.trim().split("\n");
    const isComment = commands.every(line => line.startsWith("#"));
    blocks.push(isComment ? asked.trim() : [...commands, "----", ...(await scene.play(commands))].join("\n"));
  }
  return `${blocks.join("\n\n")}\n`;
}

/** A terminal or a hook's process: what it waits for goes when it closes. */
interface Speaker {
  readonly name: string;
  readonly actor: Actor;
  readonly connection: number;
  readonly waiting: Set<number>;
  bound: boolean;
}

class Scene {
  readonly #place = new MemoryPlace();
  readonly #clock = new SimulatedClock(1_000_000);
  #engine: Engine | null = null;
  #speakers = new Map<string, Speaker>();
  /** The process each terminal runs in. */
  readonly #pids = new Map<string, number>();
  #connections = 0;
  #lines: string[] = [];

  async start(): Promise<void> {
    const starting = Engine.start({
      journal: this.#place.journal(),
      clock: this.#clock,
      node: "n",
      storeId: "store",
      onStep: (_entry, step, _state, replayed) => {
        for (const { event, to } of step.events) {
          const { event: name, ...fields } = event;
          // Who is granted a lock, or begins by asking for one, hears so: no need to write it twice.
          const isTold =
            name === "lock_granted" || (event.event === "session_started" && event.id === event.name);
          if (!replayed && to === undefined && !isTold) this.#lines.push(`* ${name} ${words(fields)}`);
        }
      },
      onTrouble: (message, error) => this.#lines.push(`! ${message}: ${String(error)}`),
      onFatal: error => this.#lines.push(`! ${String(error)}`),
    });
    await this.#settle();
    this.#engine = await starting;
  }

  /** Does what the lines say, one after the other; returns what came of it. */
  async play(commands: readonly string[]): Promise<string[]> {
    this.#lines = [];
    for (const line of commands) {
      if (line.startsWith("#")) continue;
      await this.#do(line);
      await this.#settle();
    }
    return this.#lines;
  }

  async #do(line: string): Promise<void> {
    const [, who, asked = ""] = /^([\w/#!.-]+): (.+)$/.exec(line) ?? [];
    if (who !== undefined) return this.#ask(this.#speaker(who), asked);
    const [, more] = /^time \+(\S+)$/.exec(line) ?? [];
    if (more !== undefined) return this.#pass(milliseconds(more));
    if (line === "daemon restart") return this.#restart(true);
    if (line === "daemon killed") return this.#restart(false);
    const [, committed] = /^committed (.+)$/.exec(line) ?? [];
    if (committed !== undefined) {
      await this.#committed(committed.split(" "));
      return;
    }
    if (line === "work") {
      this.#lines.push(...worked(this.#state));
      return;
    }
    if (line === "tasks") {
      this.#lines.push(...shownTasks(this.#state));
      return;
    }
    if (line === "teams") {
      this.#lines.push(...shownTeams(this.#state));
      return;
    }
    if (line === "declared") {
      this.#lines.push(...shownDeclarations(this.#state));
      return;
    }
    if (line === "agents") {
      this.#lines.push(...shownSpawns(this.#state));
      return;
    }
    if (line === "debates") {
      this.#lines.push(...shownDebates(this.#state));
      return;
    }
    if (line === "shared") {
      this.#lines.push(...shownTalk(this.#state));
      return;
    }
    if (line.startsWith("checks ")) {
      const { plain, named } = wordsOf(line.split(" ").slice(1));
      this.#lines.push(...shownChecks(this.#state, plain, named));
      return;
    }
    if (line !== "locks") throw new Error(`nobody understands "${line}"`);
    this.#lines.push(...shown(this.#state));
  }

  async #committed(files: readonly string[]): Promise<void> {
    const { writes } = this.#state;
    const settled = files.map(file => ({
      key: `n:/p/${file}`,
      seq: writes.files.get(`n:/p/${file}`)?.writers.at(-1)?.seq ?? 0,
    }));
    const answered = this.#running.submitAndWait({ type: "writes_settled", settled });
    await this.#settle();
    await answered;
  }

  async #pass(ms: number): Promise<void> {
    const until = this.#clock.now() + ms;
    // In small steps: what is due on the way is stored before time goes on.
    for (let left = ms; left > 0; left = until - this.#clock.now()) {
      this.#clock.pass(Math.min(left > 600_000 ? 60_000 : 1000, left));
      await this.#settle();
    }
  }

  async #restart(inOrder: boolean): Promise<void> {
    if (inOrder) {
      const closing = this.#running.close();
      await this.#settle();
      await closing;
    }
    this.#speakers = new Map();
    this.#clock.restart(1000);
    await this.start();
  }

  #ask(speaker: Speaker, asked: string): void {
    const [verb = "", ...rest] = asked.split(" ");
    const given = wordsOf(rest);
    if (verb === "close") {
      this.#close(speaker);
      return;
    }
    const command = this.#command(speaker, verb, given);
    if (command === null) throw new Error(`nobody understands "${asked}"`);
    this.#submit(speaker, command);
  }

  #command(speaker: Speaker, verb: string, given: Words): Command | null {
    const { actor } = speaker;
    const said =
      taskCommand(this.#state, actor, verb, given) ??
      debateCommand(this.#state, actor, verb, given) ??
      checkCommand(actor, verb, given) ??
      spawnCommand(this.#state, actor, verb, given) ??
      declareCommand(actor, verb, given, this.#clock.now()) ??
      talkCommand(actor, verb, given, this.#clock.now());
    if (said !== null) return said;
    const { session } = actor;
    const prompt = given.named.get("prompt") ?? null;
    const cause = verb === "dies" ? "anchor_gone" : "deregistered";
    switch (verb) {
      case "register":
        return this.#begin(speaker, given);
      case "heartbeat":
        return { type: "session_found", session };
      case "silence":
        return { type: "session_lost", session, begun: this.#state.sessions.live.get(session)?.begun ?? 0 };
      case "deregister":
        return { type: "session_end", session, incarnation: null, cause };
      case "dies":
        return { type: "session_end", session, incarnation: actor.incarnation, cause };
      case "file_lock":
        return this.#lock(speaker, given, {});
      case "edit":
        return this.#lock(speaker, given, {
          kind: "turn",
          prompt,
          flight: given.named.get("tool") ?? null,
          waitMs: limits.hookWaitMs,
          depth: limits.hookQueueDepth,
          placeMs: limits.placeMs,
          ancestors: actor.agent === null ? [] : [null],
        });
      // A git command that writes the index: it yields as soon as it has ended.
      case "git":
        return this.#lock(speaker, given, {
          kind: "turn",
          flight: given.named.get("tool") ?? null,
          waitMs: limits.hookWaitMs,
          depth: limits.hookQueueDepth,
          yieldMs: 0,
          ancestors: actor.agent === null ? [] : [null],
        });
      case "ended":
        return { type: "flight_end", actor, flight: given.named.get("tool") ?? null, wrote: false };
      case "wrote":
        return { type: "flight_end", actor, flight: null, wrote: true, noted: note(speaker, given, "edit") };
      case "shell":
        return { type: "writes_noted", actor, noted: note(speaker, given, "shell") };
      case "edited":
        return { type: "flight_end", actor, flight: given.named.get("tool") ?? null, wrote: true };
      case "permission":
        return { type: "lease_renew", actor };
      case "prompt":
        return { type: "turn_end", actor, keepPrompt: given.plain[0] ?? null };
      case "stop":
        return { type: "turn_end", actor, keepPrompt: null };
      case "file_unlock":
        return unlock(speaker, given.plain);
      default:
        return null;
    }
  }

  #begin({ name, actor: { session } }: Speaker, { named }: Words): Command {
    const pid = Number(named.get("pid") ?? 0);
    if (pid > 0) this.#pids.set(name, pid);
    const spawn = named.get("spawn");
    return {
      type: "session_begin",
      session,
      anchor: pid > 0 ? { pid, startTime: "1" } : null,
      cwd: "/p",
      project: "/p",
      worktree: "/p",
      branch: "main",
      name: named.get("name") ?? null,
      revive: true,
      ...(spawn === undefined ? {} : { spawn: spawnNamed(this.#state, spawn) }),
      wallMs: 0,
    };
  }

  #lock(speaker: Speaker, { plain, named }: Words, more: Partial<LockRequest>): Command {
    const asked = lockOf(speaker.actor, plain, this.#clock.now(), more);
    const wait = named.get("wait");
    const request = named.get("request");
    const isBound = plain.includes("bind");
    speaker.bound ||= isBound;
    const options = new Set(["bind", "detach"]);
    return {
      ...asked,
      single: plain.filter(word => !options.has(word)).length === 1,
      files: asked.files.filter(({ file }) => !options.has(file)),
      waitMs: wait === undefined ? asked.waitMs : milliseconds(wait),
      depth: Number(named.get("depth") ?? asked.depth),
      detach: plain.includes("detach"),
      bound: isBound ? this.#boundTo(speaker) : null,
      ...(request === undefined
        ? {}
        : { retry: { by: speaker.actor.session, requestId: request, digest: plain.join(" ") } }),
    };
  }

  #submit(speaker: Speaker, command: Command): void {
    const engine = this.#running;
    const n = engine.submit(command, {
      parked: () => {
        speaker.waiting.add(n);
        this.#lines.push(`${speaker.name}: waits`);
      },
      answer: reply => {
        speaker.waiting.delete(n);
        this.#lines.push(`${speaker.name}: ${told(reply)}`);
      },
    });
  }

  #close(speaker: Speaker): void {
    this.#speakers.delete(speaker.name);
    for (const n of speaker.waiting) this.#running.abandon(n);
    if (speaker.bound) this.#running.submitWithRetry({ type: "lock_unbind", bound: this.#boundTo(speaker) });
  }

  /** Who says it, by the process it came from, else the first part of the session alive: as the daemon finds out. */
  #speaker(name: string): Speaker {
    const [agentName = name, command] = name.split("!");
    const [terminal = agentName, agent = null] = agentName.split("/");
    const [session = terminal] = terminal.split("#");
    const incarnations = this.#state.sessions.live.get(session)?.incarnations ?? [];
    const pid = this.#pids.get(terminal);
    const own = incarnations.find(i => pid !== undefined && i.anchor?.pid === pid) ?? incarnations[0];
    const self: Actor = { session, agent, incarnation: own?.ordinal ?? 0 };
    const actor = command === undefined ? self : { ...self, command: command.replaceAll(".", "/") };
    const known = this.#speakers.get(name);
    this.#connections += known === undefined ? 1 : 0;
    const speaker: Speaker = {
      name,
      connection: this.#connections,
      waiting: new Set(),
      bound: false,
      ...known,
      actor,
    };
    this.#speakers.set(name, speaker);
    return speaker;
  }

  #boundTo({ connection }: Speaker) {
    return { node: "n", epoch: this.#running.epoch, connection };
  }

  get #running(): Engine {
    if (this.#engine === null) throw new Error("no daemon runs");
    return this.#engine;
  }

  get #state() {
    return this.#running.state;
  }

  /** Everything that takes no time has happened. */
  async #settle(): Promise<void> {
    for (let quiet = 0; quiet < 2; quiet = this.#place.tick() ? 0 : quiet + 1) {
      await microtasks();
      this.#clock.pass(0);
    }
    await microtasks();
  }
}

/** Words with a name before an equals sign, and the others. */
function wordsOf(all: readonly string[]): Words {
  const isNamed = (word: string) => /^\w+=/.test(word);
  return {
    plain: all.filter(word => !isNamed(word)),
    named: new Map(all.filter(isNamed).map(word => [word.replace(/=.*/, ""), word.replace(/^\w+=/, "")])),
  };
}

/** What was written, in the worktree where everything is. */
function note({ actor }: Speaker, { plain }: Words, by: WriteNote["by"]): WriteNote {
  const files = plain.map(file => ({ key: `n:/p/${file}`, file, worktree: "/p", project: "/p" }));
  return { files, by, ancestors: actor.agent === null ? [] : [null], wallMs: 0 };
}

/** Whose work is where, a line each. */
function worked({ writes }: State): string[] {
  if (writes.files.size === 0) return ["everything is committed"];
  return [...writes.files.values()].map(
    ({ file, writers }) => `${file}: ${writers.map(({ name, by }) => `${name} (${by})`).join(", ")}`,
  );
}

function unlock({ actor }: Speaker, plain: readonly string[]): Command {
  if (plain.includes("all")) return { type: "lock_release", actor, files: "all" };
  const named = lockOf(actor, plain, 0).files.filter(({ file }) => file !== "force");
  if (plain.includes("force")) return { type: "lock_revoke", by: actor.session, files: named };
  return { type: "lock_release", actor, files: named };
}

/** Who holds and waits for what, a line each. */
function shown(state: State): string[] {
  const { holds, waiters } = state.locks;
  if (holds.size + waiters.size === 0) return ["nothing is locked"];
  const name = (actor: Actor) => nameOf(actorRow(state, actor));
  return [
    ...[...holds.values()].map(hold => `${hold.file}: ${name(hold.actor)} (${hold.kind})`),
    ...[...waiters.values()].map(waiter => {
      const away = waiter.origin === null ? " (away)" : "";
      return `in line: ${name(waiter.actor)}${away} for ${waiter.files.map(({ file }) => file).join(" + ")}`;
    }),
  ];
}

/** A reply in words: what was answered, or refused and why. */
function told(reply: Reply): string {
  if (!reply.ok) return `${reply.code}: ${reply.error}`;
  const task = taskTold(reply);
  if (task !== null) return `ok ${task}`;
  const declared = declareTold(reply);
  if (declared !== null) return `ok, ${declared}`;
  const { ok: _ok, ...fields } = reply;
  return `ok ${words(fields)}`.trimEnd();
}

function milliseconds(text: string): number {
  const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
  const [, count, unit] = /^(\d+)(ms|s|m|h)?$/.exec(text) ?? [];
  if (count === undefined) throw new Error(`"${text}" is no time: 500ms, 30s, 10m, 24h`);
  return Number(count) * (units[unit ?? "ms"] ?? 1);
}
