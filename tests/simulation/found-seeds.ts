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
  ["remote", 1, 135, "two holders: a turn hold keeps nobody out"],
  ["remote", 39, 140, "a grant to a closed connection stays"],
  ["file", 144, 5, "a token used again after a restart"],
  ["remote", 145, 5, "tokens that begin anew after a snapshot"],
  ["file", 26, 5, "a set held in part while it waits"],
  ["file", 132, 1, "an answer before it is stored"],
  ["file", 90, 5, "a batch that is not written"],
  ["file", 26, 6, "a lease that outlives its holder: an ended session keeps its locks"],
  ["remote", 53, 175, "a turn hold whose lease never ends"],
  ["file", 2, 133, "a write in flight that is yielded"],
  ["remote", 1, 90, "an explicit hold that does not come back from a descendant"],
  ["file", 59, 4, "a voided entry replayed"],
  ["file", 148, 33, "a waiter that is never told that its time is over"],
  ["remote", 65, 5, "a release that forgets who waits"],
  ["file", 136, 16, "a search for deadlocks that does not see what subagents wait for"],
  ["file", 4, 148, "a lock that passes to a descendant without a look for cycles"],
  ["file", 54, 569, "a task that is acknowledged before it is safe on disk"],
  ["remote", 15, 145, "a task claimed twice"],
  ["remote", 1, 95, "the first match of a prefix is taken"],
  ["file", 2, 114, "a task that is done and frees nobody who waited for it"],
  ["file", 20, 30, "dependencies that close a cycle"],
  ["file", 22, 122, "a claim that outlives its session"],
  ["remote", 59, 132, "a done task that is reopened under those who build on it"],
  ["file", 57, 100, "a message that is acknowledged before it is safe on disk"],
  ["remote", 19, 140, "a message shown twice after an interruption"],
  ["remote", 1, 16, "a message in two answers at a time"],
  ["file", 10, 522, "a message that came back behind later ones"],
  ["file", 30, 136, "a check's result that is acknowledged before it is on disk"],
  ["file", 4, 29, "an earlier result of a check that stays"],
  ["file", 130, 12, "context in memory that outlives its daemon"],
  ["remote", 29, 150, "durable context that goes with its daemon"],
  ["remote", 23, 117, "a version of a key given out again after it was deleted"],
  ["file", 18, 175, "a lock granted while somebody holds edits of its file"],
  ["remote", 19, 266, "a freeze that outlives its session"],
  ["remote", 17, 176, "work that came after git was asked is forgotten"],
  ["remote", 5, 78, "a shell command may change what a living one has work in"],
  ["remote", 7, 136, "a note that is forgotten before it was told"],
  ["remote", 9, 9, "a conflict that is kept over the end of a turn"],
  ["file", 18, 525, "notes that stay with an id that is gone"],
  ["remote", 1, 73, "whoever's work was taken is not told"],
  ["remote", 1, 52, "work of a main agent puts nobody at risk"],
  ["file", 20, 88, "a late write that is not remembered"],
  ["file", 42, 112, "a late write that nobody but its writer is told of"],
  ["file", 42, 274, "a late write that is told though its writer has the file again"],
  ["file", 58, 388, "a late write that is forgotten over a start"],
  ["file", 2, 191, "a loan that is forgotten over a start"],
  ["remote", 21, 243, "a lock that outlives the connection it is bound to over a start"],
  ["remote", 11, 127, "what is lent by a connection that closed"],
  ["file", 60, 708, "what is lent by a connection that is gone since a start"],
  ["remote", 1, 141, "a refusal that nobody read is kept for a retry"],
  ["remote", 9, 85, "a refusal that a later retry read is forgotten"],
  ["remote", 9, 135, "refusals are kept over a start"],
  ["file", 2, 115, "who came to have nothing last makes room"],
  ["file", 54, 97, "a session with an unread message makes room"],
  ["file", 2, 115, "who made room may not come back"],
  ["remote", 41, 150, "the order in which sessions make room is forgotten over a start"],
  ["remote", 5, 99, "an overlap of declarations told to the later side alone"],
  ["file", 2, 145, "a declaration that outlives its session"],
  ["file", 2, 101, "a gate that asks again for what was supplied"],
  ["file", 4, 114, "a debate that closes past an open challenge"],
  ["remote", 3, 76, "a debate that closes with a rival that nobody challenged"],
  ["remote", 3, 76, "a debate that an agent forces to close"],
  ["file", 50, 199, "an entry of a debate that is acknowledged before it is safe on disk"],
  ["file", 2, 106, "a participant with two messages of a debate to read"],
  ["remote", 69, 835, "a conflict that is told again in the same turn"],
]);

function seedsOf(rows: readonly Row[]): readonly FoundSeed[] {
  return rows.map(([host, seed, steps, found]) => ({ host, seed, steps, found }));
}
