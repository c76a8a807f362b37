/** The tokens of a session and its agents, as their transcripts count them. */
import { join } from "node:path";
import type { Tokens } from "../../hooks/claude-code/transcripts.ts";
import type { ProcessContext } from "../process-context.ts";
import { type Count, none, sum, TokenCounter } from "./count.ts";
import { TranscriptFolders } from "./transcripts.ts";

/** A session's own tokens, and those of its agents together. */
export interface SessionTokens {
  readonly own: Count;
  readonly agents: Count;
  /** How many agents there are. */
  readonly agentCount: number;
}

/** Counts sessions in the order in which they are named, as far as one command may read. Null: it has no transcript. */
export function tokensOf(
  { env, paths }: Pick<ProcessContext, "env" | "paths">,
  sessions: readonly string[],
): ReadonlyMap<string, SessionTokens> {
  const folders = new TranscriptFolders(env);
  const counter = new TokenCounter(join(paths.home, "tokens.json"));
  const found = new Map<string, SessionTokens>();
  for (const session of sessions) {
    const { own, agents } = folders.of(session);
    if (own.length + agents.size === 0) continue;
    const all = [...agents.values()].flat();
    found.set(session, { own: counter.count(own), agents: counter.count(all), agentCount: agents.size });
  }
  counter.save();
  return found;
}

/** A session by its name. */
export interface NamedTokens {
  readonly name: string;
  readonly id: string;
  readonly counts: SessionTokens;
}

/** Returns the sessions with the most tokens, that with the most output first. `sessions`: names by ids, the latest last. */
export function mostTokens(
  world: Pick<ProcessContext, "env" | "paths">,
  sessions: ReadonlyMap<string, string>,
  max: number,
): readonly NamedTokens[] {
  const found = tokensOf(world, [...sessions.keys()].reverse());
  return [...found]
    .map(([id, counts]) => ({ id, name: sessions.get(id) ?? id, counts }))
    .sort((a, b) => totalOf(b.counts).output - totalOf(a.counts).output)
    .slice(0, max);
}

/** Returns what an agent counts: a session with its agents, or one of these alone. Null: it has no transcript. */
export function tokensFor(
  world: Pick<ProcessContext, "env" | "paths">,
  actor: { readonly id: string; readonly agent: string | null } | null,
): SessionTokens | null {
  if (actor === null) return null;
  if (actor.agent === null) return tokensOf(world, [actor.id]).get(actor.id) ?? null;
  const files = new TranscriptFolders(world.env).of(actor.id).agents.get(actor.agent);
  if (files === undefined) return null;
  const counter = new TokenCounter(join(world.paths.home, "tokens.json"));
  const own = counter.count(files);
  counter.save();
  return { own, agents: { tokens: none, messages: 0, isPartial: false }, agentCount: 0 };
}

export function totalOf({ own, agents }: SessionTokens): Tokens {
  return [own.tokens, agents.tokens].reduce(sum, none);
}
