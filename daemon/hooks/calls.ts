/** Which agent makes which call. The event before a call names both; the call itself names the tool use, or nothing. */

import type { CallIds } from "../../hooks/seam/plan.ts";
import { limits } from "../../protocol/limits.ts";
import { BoundedMap } from "../bounded-map.ts";
import { type Actor, actorKey } from "../core/frame/actors.ts";

export interface ToolUse {
  readonly session: string;
  readonly agent: string | null;
  /** The agent's directory at that time. */
  readonly cwd: string;
  /** The shell line that makes the call, up to `limits.typedChars`; null if a tool makes it. */
  readonly command: string | null;
  /** The prompt whose turn makes the call; null if the event names none. */
  readonly prompt: string | null;
  /** The line runs on when the client reports the end of its call. */
  readonly isBackground: boolean;
}

/** The caller may be any of these agents, or another one. */
interface Ambiguous {
  readonly agents: number;
}

/** The latest tool uses, in memory only: a call follows its event at once. */
export class ToolUses {
  readonly #uses = new BoundedMap<string, ToolUse>({ entriesMax: limits.toolUsesMax });

  note(id: string, use: ToolUse): void {
    this.#uses.set(id, use);
  }

  /** Forgets a shell line that has run. */
  ended(id: string): void {
    const use = this.#uses.get(id);
    if (use !== undefined && use.command !== null && !use.isBackground) this.#uses.delete(id);
  }

  /** Forgets an agent's shell lines whose ends were not reported, but not those of the turn of `keepPrompt`. */
  turnEnded(session: string, agent: string | null, keepPrompt: string | null): void {
    const entries = [...this.#uses.entries()];
    for (const [id, use] of entries) {
      const isOwn = use.session === session && use.agent === agent && use.command !== null;
      const isKept = keepPrompt !== null && use.prompt === keepPrompt;
      if (isOwn && !isKept) this.#uses.delete(id);
    }
  }

  of(id: string): ToolUse | null {
    return this.#uses.get(id) ?? null;
  }

  /**
   * Returns the latest line of this session that contains these words, if all that do are one agent's. Otherwise the
   * programs that run the caller tell: `shells` are their command lines, which contain the caller's whole line. A script's
   * line is not known: only if no agent but the main one is `atWork` can nobody else run it. Null: no line of this session
   * runs.
   */
  findByCommandLine(
    session: string,
    words: string,
    shells: readonly string[] = [],
    atWork: ReadonlySet<string> = new Set(),
  ): ToolUse | Ambiguous | null {
    const lines = [...this.#uses.values()].flatMap(use =>
      use.session === session && use.command !== null ? [{ use, text: withoutQuotes(use.command) }] : [],
    );
    const typed = withoutQuotes(`kite ${words}`);
    const fits = lines.filter(({ text }) => text.includes(typed));
    const own = onlyOf(fits);
    if (own !== null) return own;
    // A shell may have made the words up: then any line can be the caller's.
    const candidates = fits.length > 0 ? fits : lines;
    const agents = new Set([
      ...candidates.map(({ use }) => use.agent),
      ...(fits.length > 0 ? [] : [null, ...atWork]),
    ]);
    const isKnown = fits.length > 0 || atWork.size === 0;
    if (candidates.length === 0) return isKnown ? null : { agents: agents.size };
    const isGuess = shells.length === 0;
    const ran = isGuess ? candidates : runBy(candidates, shells.map(withoutQuotes));
    const found = isGuess && !isKnown ? null : onlyOf(ran);
    return found ?? { agents: agents.size };
  }
}

/** A shell line; `text` is its command without what a shell takes away. */
interface Line {
  readonly use: ToolUse;
  readonly text: string;
}

/** The latest of lines that are all one agent's. */
function onlyOf(lines: readonly Line[]): ToolUse | null {
  const latest = lines.at(-1)?.use;
  return latest !== undefined && lines.every(({ use }) => use.agent === latest.agent) ? latest : null;
}

/**
 * The lines that the shells run: the longest that they contain, since a shorter one may be a part of it. A client may
 * change a line before it runs it; so if another line that the shells do not contain has this text in it, both count.
 * Empty: they run none of these lines as it was typed.
 */
function runBy(lines: readonly Line[], shells: readonly string[]): readonly Line[] {
  const isRun = ({ text }: Line) => shells.some(shell => shell.includes(text));
  const longest = Math.max(...lines.filter(isRun).map(({ text }) => text.length));
  const [one] = lines.filter(line => isRun(line) && line.text.length === longest);
  if (one === undefined) return [];
  return lines.filter(line => line.text.includes(one.text) && (line.text.length === longest || !isRun(line)));
}

/** Text without quotes and blanks, which a shell takes away. */
function withoutQuotes(text: string): string {
  return text.replace(/["'\\\s]+/g, "");
}

// Calls of clients that give them no ids: an end is that of the latest call with the same words that has not ended.

interface Alike {
  /** The number of the next call with these words. */
  next: number;
  /** Those that have not ended, the latest last; a call that was denied has no end. */
  readonly open: number[];
}

/**
 * In memory only. The first call with some words has the same id after each start, so that an end finds what an earlier
 * start saw begin; if there were more of them, it ends nothing.
 */
export class OpenCalls implements CallIds {
  readonly #alike = new BoundedMap<string, Alike>({ entriesMax: limits.openCallsMax });

  begins(words: string): string {
    const alike = this.#alike.get(words) ?? { next: 0, open: [] };
    const n = alike.next;
    alike.next += 1;
    alike.open.push(n);
    if (alike.open.length > limits.openCallsAlikeMax) alike.open.shift();
    // The latest stay.
    this.#alike.set(words, alike);
    return idOf(words, n);
  }

  ends(words: string): string {
    return idOf(words, this.#alike.get(words)?.open.pop() ?? 0);
  }
}

function idOf(words: string, n: number): string {
  return `${words}-${n}`;
}

// The latest failed call of each agent. In memory only: after a restart nobody is sent on for an old failure.

interface Failure {
  readonly tool: string;
  readonly error: string;
}

interface Failed extends Failure {
  /** The agent was sent on for this failure. */
  readonly isTold: boolean;
  /** How often in a row the agent was sent on since a call of its succeeded. */
  readonly sentOn: number;
}

/** An agent is sent on once for a failure, and `limits.sentOnMax` times in a row at most. */
export class ToolFailures {
  readonly #failed = new BoundedMap<string, Failed>({ entriesMax: limits.gatedActorsMax });

  failed(actor: Actor, failure: Failure): void {
    const sentOn = this.#failed.get(actorKey(actor))?.sentOn ?? 0;
    this.#failed.set(actorKey(actor), { ...failure, isTold: false, sentOn });
  }

  succeeded(actor: Actor): void {
    this.#failed.delete(actorKey(actor));
  }

  /** Returns the failure for which the agent is to be sent on; null if there is none. */
  pending(actor: Actor): Failure | null {
    const failed = this.#failed.get(actorKey(actor));
    return failed === undefined || failed.isTold || failed.sentOn >= limits.sentOnMax ? null : failed;
  }

  /** The agent was told of its failure. */
  told(actor: Actor): void {
    const failed = this.#failed.get(actorKey(actor));
    if (failed !== undefined)
      this.#failed.set(actorKey(actor), { ...failed, isTold: true, sentOn: failed.sentOn + 1 });
  }
}

// Which decisions on shell lines the trail has. A client runs one hook for each of its rules that a line matches, and each is
// decided by itself: the line and its denial still count once.

/** What tells a line from others: its session, and the id of its call. Without an id each hook is one of its own. */
interface LineNotedDecisions {
  readonly session: string | null;
  readonly toolUseId?: string;
}

/** In memory only: a line that is sent again after a restart counts again. */
export class NotedDecisions {
  readonly #noted = new BoundedMap<string, true>({ entriesMax: limits.guardToldMax });

  /** Returns whether this is the first hook of the line for which `decision` is noted. */
  isFirst({ session, toolUseId }: LineNotedDecisions, decision: string): boolean {
    if (toolUseId === undefined) return true;
    const key = `${session}\n${toolUseId}\n${decision}`;
    if (this.#noted.has(key)) return false;
    this.#noted.set(key, true);
    return true;
  }
}
