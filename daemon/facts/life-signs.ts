/** Looks for signs of life of an agent in the files of its client and in the process table. It writes nothing. */
import type {
  ClientStatus,
  LifeFiles,
  LikelySubagent,
  TranscriptEnd,
  WatchedAgent,
} from "../../hooks/seam/plan.ts";
import { limits } from "../../protocol/limits.ts";
import type { Anchor } from "../core/frame/actors.ts";
import type { BudgetedFs, Unreachable } from "./filesystem.ts";
import type { FileEnd } from "./prober.ts";
import { youngestChildMs } from "./processes.ts";

/** An agent to look at. */
export interface LifeQuestion extends Omit<WatchedAgent, "pid" | "transcript"> {
  /** Null: no event named one. */
  readonly transcript: string | null;
  readonly anchor: Anchor | null;
}

/** What one look found. Null: the client has no such file, or it could not be read in time. */
export interface LifeSigns {
  readonly transcript: Transcript | null;
  readonly status: ClientStatus | null;
  /** How long the youngest child of its process has run, in milliseconds; time over which the machine slept counts. */
  readonly childMs: number | "none" | "unknown";
  /** One of the files did not answer in time, so that what is not seen proves nothing. */
  readonly isUnreadable: boolean;
}

export interface Transcript extends Pick<FileEnd, "sizeBytes" | "changedAt"> {
  readonly end: TranscriptEnd;
}

/** Reads at most the end of one file and one small file, of the client whose transcript it can be. */
export async function lifeSigns(
  outside: BudgetedFs,
  clients: readonly LifeFiles[],
  asked: LifeQuestion,
): Promise<LifeSigns> {
  const { session, agent, transcript, anchor } = asked;
  const pid = anchor?.pid ?? null;
  const childMs = anchor === null ? "unknown" : youngestChildMs(anchor);
  const own = transcript === null ? null : placesOf(clients, { session, agent, transcript, pid });
  if (own === null) return { transcript: null, status: null, childMs, isUnreadable: false };
  const { files, places } = own;
  const found = await tailOf(outside, places.transcript);
  const status = places.status === null ? null : await smallText(outside, places.status);
  return {
    transcript: found === null || isUnreachable(found) ? null : endOf(files, found),
    status: status === null || isUnreachable(status) ? null : files.readStatus(status.text ?? "", session),
    childMs,
    isUnreadable: [found, status].some(one => one !== null && isUnreachable(one)),
  };
}

function placesOf(clients: readonly LifeFiles[], agent: WatchedAgent) {
  for (const files of clients) {
    const places = files.of(agent);
    if (places !== null) return { files, places };
  }
  return null;
}

/**
 * Returns the subagent that probably acts in a session whose client does not say; null: the main agent, or the transcript
 * is missing, is not the client's own, or could not be read in time. Reads at most the end of one file.
 */
export async function likelySubagent(
  outside: BudgetedFs,
  clients: readonly LifeFiles[],
  { session, transcript }: Pick<WatchedAgent, "session" | "transcript">,
): Promise<LikelySubagent | null> {
  const own = placesOf(clients, { session, agent: null, transcript, pid: null });
  if (own === null) return null;
  const { files, places } = own;
  const found = await tailOf(outside, places.transcript);
  return found === null || isUnreachable(found) ? null : files.readSubagent(lastLines(found));
}

function endOf(files: LifeFiles, found: FileEnd): Transcript {
  const { sizeBytes, changedAt } = found;
  return { sizeBytes, changedAt, end: files.readEnd(lastLines(found)) };
}

function lastLines({ text }: FileEnd): readonly string[] {
  return text
    .split("\n")
    .filter(line => line !== "")
    .slice(-limits.transcriptTailLines);
}

const elsewhere = { maybeElsewhere: true } as const;

/** Null: there is no such file. */
function tailOf(outside: BudgetedFs, path: string): Promise<FileEnd | null | Unreachable> {
  return outside.fact(budget =>
    outside.look(path, null, budget, (prober, at) => prober.tail(at, limits.transcriptTailBytes), elsewhere),
  );
}

/** `text` is null if the file is no regular one, or too long. */
function smallText(
  outside: BudgetedFs,
  path: string,
): Promise<{ readonly text: string | null } | null | Unreachable> {
  return outside.fact(budget =>
    outside.look(
      path,
      null,
      budget,
      async (prober, at) => ({ text: await prober.readSmall(at, limits.smallFileBytes) }),
      elsewhere,
    ),
  );
}

function isUnreachable(found: object): found is Unreachable {
  return "unreachable" in found;
}
