/** Seeds that found something once, for as many steps as they need for it. */

export interface FoundSeed {
  readonly host: "file" | "remote";
  readonly seed: number;
  /** Steps after which it was found: in the last of them, or when all that was under way then was done. */
  readonly steps: number;
  /** What it found, in a line. */
  readonly found: string;
}

/** A row of the lists below, which `plant.ts` writes again if it finds its bug no more. */
export type Row = readonly [host: "file" | "remote", seed: number, steps: number, found: string];

/**
 * A seed whose failure led to a mend is added here, with the steps that it took. The sequence of random numbers
 * changes with the simulation's rules: a row that would find nothing any more, even with the bug in place, can go.
 */
export const foundSeeds = seedsOf([
  ["remote", 910007, 2000, "a merge that the log delivers late stays with a closed connection"],
  ["file", 1021, 400, "a request repeated long after, and taken by a power cut, may be carried out again"],
]);

/** The same of what only an audit of each entry sees. */
export const auditedSeeds = seedsOf([
  ["remote", 1, 444, "a lock request ends the writes before it, and is refused: that touches locks"],
  ["file", 3, 588, "the same, of a request that a full line refuses"],
]);

/** The soonest of many seeds for each planted bug, by the bug's name; `plant.ts` tries them first, and looks for others with `UPDATE=1`. */
export const plantedSeeds = seedsOf([
  ["file", 4, 17, "barging: who comes later is granted past the line"],
  ["remote", 3, 142, "two holders: a turn hold keeps nobody out"],
  ["file", 20, 45, "a grant to a closed connection stays"],
  ["file", 144, 5, "a token used again after a restart"],
  ["remote", 145, 5, "tokens that begin anew after a snapshot"],
  ["file", 26, 5, "a set held in part while it waits"],
  ["file", 132, 1, "an answer before it is stored"],
  ["file", 1, 171, "a batch that is not written"],
  ["file", 26, 6, "a lease that outlives its holder: an ended session keeps its locks"],
  ["remote", 17, 52, "a turn hold whose lease never ends"],
  ["file", 2, 256, "a write in flight that is yielded"],
  ["remote", 1, 32, "an explicit hold that does not come back from a descendant"],
  ["file", 59, 4, "a voided entry replayed"],
  ["file", 148, 33, "a waiter that is never told that its time is over"],
  ["remote", 65, 5, "a release that forgets who waits"],
  ["remote", 3, 249, "a search for deadlocks that does not see what subagents wait for"],
  ["remote", 104, 124, "a lock that passes to a descendant without a look for cycles"],
  ["file", 43, 131, "a task that is acknowledged before it is safe on disk"],
  ["file", 103, 194, "a task claimed twice"],
  ["file", 2, 294, "the first match of a prefix is taken"],
  ["file", 104, 192, "a task that is done and frees nobody who waited for it"],
  ["remote", 1, 52, "dependencies that close a cycle"],
  ["remote", 102, 221, "a claim that outlives its session"],
  ["remote", 83, 1289, "a done task that is reopened under those who build on it"],
  ["file", 122, 15, "a message that is acknowledged before it is safe on disk"],
  ["file", 108, 51, "a message shown twice after an interruption"],
  ["remote", 1, 16, "a message in two answers at a time"],
  ["remote", 63, 1091, "a message that came back behind later ones"],
  ["file", 84, 281, "a check's result that is acknowledged before it is on disk"],
  ["file", 4, 29, "an earlier result of a check that stays"],
  ["file", 130, 12, "context in memory that outlives its daemon"],
  ["remote", 1, 400, "durable context that goes with its daemon"],
  ["file", 104, 37, "a version of a key given out again after it was deleted"],
  ["file", 104, 139, "a lock granted while somebody holds edits of its file"],
  ["file", 19, 56, "a freeze that outlives its session"],
  ["remote", 9, 103, "work that came after git was asked is forgotten"],
  ["remote", 5, 78, "a shell command may change what a living one has work in"],
  ["file", 12, 39, "a note that is forgotten before it was told"],
  ["remote", 112, 137, "a conflict that is told again in the same turn"],
  ["remote", 9, 9, "a conflict that is kept over the end of a turn"],
  ["remote", 23, 196, "notes that stay with an id that is gone"],
  ["file", 211, 266, "a lead that is not told of a teammate's end"],
  ["file", 8, 102, "a teammate that keeps its place under another name"],
  ["file", 17, 55, "whoever's work was taken is not told"],
  ["remote", 1, 49, "work of a main agent puts nobody at risk"],
  ["file", 101, 144, "a late write that is not remembered"],
  ["remote", 109, 169, "a late write that nobody but its writer is told of"],
  ["remote", 117, 103, "a late write that is told though its writer has the file again"],
  ["remote", 107, 218, "a late write that is forgotten over a start"],
  ["remote", 103, 230, "a loan that is forgotten over a start"],
  ["remote", 19, 13, "a lock that outlives the connection it is bound to over a start"],
  ["file", 102, 52, "what is lent by a connection that closed"],
  ["remote", 115, 217, "what is lent by a connection that is gone since a start"],
  ["file", 3, 38, "a refusal that nobody read is kept for a retry"],
  ["file", 10, 7, "a refusal that a later retry read is forgotten"],
  ["file", 2, 300, "refusals are kept over a start"],
  ["remote", 102, 177, "who came to have nothing last makes room"],
  ["remote", 203, 744, "a session with an unread message makes room"],
  ["remote", 102, 177, "who made room may not come back"],
  ["remote", 41, 150, "the order in which sessions make room is forgotten over a start"],
  ["remote", 5, 98, "an overlap of declarations told to the later side alone"],
  ["file", 4, 223, "a declaration that outlives its session"],
  ["remote", 1, 182, "a gate that asks again for what was supplied"],
  ["file", 1, 1461, "a debate that closes past an open challenge"],
  ["remote", 3, 134, "a debate that closes with a rival that nobody challenged"],
  ["file", 4, 223, "a notice of an overlap that is over"],
  ["remote", 202, 450, "a verdict that anybody deletes"],
  ["remote", 61, 1677, "a verdict that outlives its debate"],
  ["file", 2, 258, "an agent that answers its own challenge"],
  ["file", 15, 47, "a debate that one agent closes with itself"],
  ["remote", 109, 232, "an agent that concedes what another one supports"],
  ["file", 104, 54, "an agent that is alone and cannot close a debate"],
  ["file", 12, 41, "a debate that an agent forces to close"],
  ["file", 54, 227, "an entry of a debate that is acknowledged before it is safe on disk"],
  ["file", 2, 56, "a participant with two messages of a debate to read"],
  ["file", 9, 14, "what an agent has, given back by anybody"],
  ["remote", 1, 835, "the tasks of a whole session, given back with one agent's"],
  ["remote", 1, 722, "an attempt counted for a task that was given back"],
  ["remote", 3, 169, "turn locks of one prompt that stay when they are given back"],
  ["file", 118, 136, "a write in flight that is forgotten when its lock is given back"],
  ["file", 2, 139, "two merges of a base at a time"],
  ["remote", 101, 208, "a merge that overtakes"],
  ["file", 24, 300, "a merge that stays with a runner that is gone"],
  ["file", 22, 56, "a merge that stays with a runner of an earlier start"],
  ["file", 101, 199, "a merge that goes on though it builds on one that came back"],
  ["file", 122, 15, "a merge that is acknowledged before it is safe on disk"],
  ["remote", 1, 273, "a merge that is forgotten over a start"],
  ["file", 18, 13, "a report of an earlier run that counts"],
  ["remote", 15, 207, "a merge that comes back and leaves its author the task"],
  ["remote", 205, 250, "two red tasks of one project at once"],
  ["remote", 13, 247, "a critical task that runs as a red one does"],
  ["file", 2, 292, "a claim beyond the role of the claimer"],
  ["remote", 101, 46, "a person's yes that outlives the run"],
  ["file", 14, 23, "a role that an agent gives"],
  ["remote", 1, 174, "a given role that is forgotten over a start"],
  ["remote", 9, 256, "a lead that is not told of a red task"],
  ["remote", 204, 204, "a spawned agent that comes back without its session"],
  ["file", 102, 215, "one spawned agent more than may be"],
  ["file", 40, 29, "a task that is for two spawned agents"],
  ["file", 5, 38, "a spawned agent that outlives its session"],
  ["remote", 3, 115, "a spawned agent that starts for ever"],
  ["file", 218, 5, "a spawned agent that is acknowledged before it is safe on disk"],
  ["file", 112, 238, "a child process that takes the record of a spawned agent"],
  ["remote", 1, 98, "a snapshot with rows as later entries left them"],
  ["file", 2, 130, "a snapshot with maps as later entries left them"],
  ["remote", 9, 86, "a session that brings back an agent stopped before it began"],
  ["file", 4, 223, "a lock that does not count as a change of its session's work"],
  ["remote", 1, 32, "rows of locks with a position that changes when a lock comes back"],
]);

function seedsOf(rows: readonly Row[]): readonly FoundSeed[] {
  return rows.map(([host, seed, steps, found]) => ({ host, seed, steps, found }));
}
