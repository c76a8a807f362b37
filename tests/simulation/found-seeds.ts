/** Seeds that found something once, for as many steps as they need for it. */

export interface FoundSeed {
  readonly host: "file" | "remote";
  readonly seed: number;
  /** Steps after which it was found: in the last of them, or when all that was under way then was done. */
  readonly steps: number;
  /** What it found, in a line. */
  readonly found: string;
}

type Row = readonly [host: "file" | "remote", seed: number, steps: number, found: string];

/**
 * A seed whose failure led to a mend is added here, with the steps that it took. The sequence of random numbers
 * changes with the simulation's rules: a row that would find nothing any more, even with the bug in place, can go.
 */
export const foundSeeds = seedsOf([
  ["remote", 1, 444, "a lock request ends the writes before it, and is refused: that touches locks"],
  ["file", 3, 588, "the same, of a request that a full line refuses"],
  ["file", 1021, 400, "a request repeated long after, and taken by a power cut, may be carried out again"],
]);

/** The soonest of many seeds for each planted bug, by the bug's name; `plant.ts` tries them first. */
export const plantedSeeds = seedsOf([
  ["file", 104, 11, "barging: who comes later is granted past the line"],
  ["file", 2, 114, "two holders: a turn hold keeps nobody out"],
  ["file", 2, 2000, "a grant to a closed connection stays"],
  ["file", 144, 5, "a token used again after a restart"],
  ["remote", 145, 5, "tokens that begin anew after a snapshot"],
  ["file", 26, 5, "a set held in part while it waits"],
  ["file", 132, 1, "an answer before it is stored"],
  ["file", 90, 5, "a batch that is not written"],
  ["file", 26, 6, "a lease that outlives its holder: an ended session keeps its locks"],
  ["remote", 53, 175, "a turn hold whose lease never ends"],
  ["file", 144, 8, "a write in flight that is yielded"],
  ["file", 2, 62, "an explicit hold that does not come back from a descendant"],
  ["file", 2, 1266, "a voided entry replayed"],
  ["file", 148, 35, "a waiter that is never told that its time is over"],
  ["remote", 65, 5, "a release that forgets who waits"],
  ["file", 136, 16, "a search for deadlocks that does not see what subagents wait for"],
  ["file", 4, 554, "a lock that passes to a descendant without a look for cycles"],
  ["file", 14, 200, "a task that is acknowledged before it is safe on disk"],
  ["file", 4, 28, "a task claimed twice"],
  ["file", 68, 41, "the first match of a prefix is taken"],
  ["remote", 49, 80, "a task that is done and frees nobody who waited for it"],
  ["file", 20, 31, "dependencies that close a cycle"],
  ["remote", 31, 92, "a claim that outlives its session"],
  ["remote", 5, 1878, "a done task that is reopened under those who build on it"],
  ["file", 5, 918, "a message that is acknowledged before it is safe on disk"],
  ["file", 56, 66, "a message shown twice after an interruption"],
  ["file", 86, 58, "a message in two answers at a time"],
  ["file", 4, 1032, "a message that came back behind later ones"],
  ["file", 4, 29, "an earlier result of a check that stays"],
  ["file", 5, 63, "a check's result that is acknowledged before it is on disk"],
  ["remote", 23, 212, "a lock that passes to a descendant without a look for cycles"],
  ["file", 17, 242, "a task that is acknowledged before it is safe on disk"],
  ["remote", 15, 134, "a task claimed twice"],
  ["remote", 1, 88, "the first match of a prefix is taken"],
  ["file", 4, 117, "a task that is done and frees nobody who waited for it"],
  ["file", 20, 30, "dependencies that close a cycle"],
  ["remote", 1, 150, "a claim that outlives its session"],
  ["remote", 5, 890, "a done task that is reopened under those who build on it"],
  ["file", 58, 127, "a message that is acknowledged before it is safe on disk"],
  ["file", 30, 80, "a message shown twice after an interruption"],
  ["remote", 1, 73, "a message in two answers at a time"],
  ["file", 4, 907, "a message that came back behind later ones"],
  ["file", 130, 12, "context in memory that outlives its daemon"],
  ["remote", 9, 183, "durable context that goes with its daemon"],
  ["file", 16, 198, "a version of a key given out again after it was deleted"],
  ["remote", 27, 59, "a lock granted while somebody holds edits of its file"],
  ["remote", 1, 150, "a freeze that outlives its session"],
  ["remote", 1, 708, "work that came after git was asked is forgotten"],
  ["remote", 5, 71, "a shell command may change what a living one has work in"],
  ["remote", 5, 97, "a note that is forgotten before it was told"],
  ["file", 54, 173, "a conflict that is told again in the same turn"],
  ["remote", 9, 9, "a conflict that is kept over the end of a turn"],
  ["file", 58, 582, "notes that stay with an id that is gone"],
  ["remote", 1, 148, "whoever's work was taken is not told"],
  ["remote", 1, 69, "work of a main agent puts nobody at risk"],
  ["file", 2, 96, "a late write that is not remembered"],
  ["file", 42, 115, "a late write that nobody but its writer is told of"],
  ["file", 52, 1120, "a late write that is told though its writer has the file again"],
  ["file", 2, 191, "a late write that is forgotten over a start"],
  ["file", 2, 191, "a loan that is forgotten over a start"],
  ["file", 34, 205, "a lock that outlives the connection it is bound to over a start"],
  ["remote", 27, 123, "what is lent by a connection that closed"],
  ["remote", 31, 1369, "what is lent by a connection that is gone since a start"],
  ["file", 48, 22, "a refusal that nobody read is kept for a retry"],
  ["file", 4, 107, "a refusal that a later retry read is forgotten"],
  ["remote", 1, 576, "refusals are kept over a start"],
  ["remote", 3, 151, "who came to have nothing last makes room"],
  ["remote", 3, 194, "a session with an unread message makes room"],
  ["remote", 3, 151, "who made room may not come back"],
  ["file", 9, 152, "the order in which sessions make room is forgotten over a start"],
  ["file", 20, 140, "who came to have nothing last makes room"],
  ["remote", 7, 252, "a session with an unread message makes room"],
  ["file", 20, 140, "who made room may not come back"],
  ["file", 42, 141, "the order in which sessions make room is forgotten over a start"],
  ["remote", 43, 50, "a debate that closes past an open challenge"],
  ["remote", 1, 76, "a debate that closes with a rival that nobody challenged"],
  ["file", 2, 145, "a debate that an agent forces to close"],
  ["file", 51, 228, "an entry of a debate that is acknowledged before it is safe on disk"],
  ["remote", 1, 70, "a participant with two messages of a debate to read"],
]);

function seedsOf(rows: readonly Row[]): readonly FoundSeed[] {
  return rows.map(([host, seed, steps, found]) => ({ host, seed, steps, found }));
}
