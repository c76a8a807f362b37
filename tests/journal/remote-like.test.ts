import { describe, expect, it } from "vitest";
import { Random } from "../simulation/random.ts";
import { Client, microtasks, wants } from "./commands.ts";
import { faultlessRemote, faultyRemote, RemoteLikeJournal, RemoteLog } from "./remote-like.ts";
import { journalSuite } from "./suite.ts";

/** Ticks until there is nothing left to do. */
async function settle(journal: RemoteLikeJournal): Promise<void> {
  do {
    journal.tick();
    await microtasks();
  } while (!journal.idle);
}

journalSuite("the remote-like journal", () => {
  const log = new RemoteLog();
  const random = new Random(1);
  let current: RemoteLikeJournal | null = null;
  return {
    start: () => {
      current?.crash();
      current = new RemoteLikeJournal(log, random, faultlessRemote);
      return current;
    },
    settle: async () => {
      if (current !== null) await settle(current);
    },
  };
});

/** One node that proposes, among entries of another, over a log that misbehaves; returns a transcript. */
async function run(seed: number): Promise<string[]> {
  const random = new Random(seed);
  const log = new RemoteLog();
  const transcript: string[] = [];
  for (let life = 0; life < 3; life++) {
    const journal = new RemoteLikeJournal(log, random.fork(), faultyRemote);
    const client = await Client.open(journal);
    const opened = client.found.length;
    const passed: Promise<void>[] = [];
    for (let step = 0; step < 100; step++) {
      client.propose(...Array.from({ length: random.int(0, 3) }, () => wants(`step ${step}`)));
      if (random.chance(0.3)) {
        const origin = { node: "n2", epoch: 1, n: life * 100 + step };
        log.append({ origin, at: step, command: wants("foreign") });
      }
      if (random.chance(0.1)) journal.sync();
      if (random.chance(0.1)) {
        const before = client.count;
        passed.push(journal.barrier().then(() => expectDecided(client, before)));
      }
      journal.tick();
      if (step % 10 === 0) await microtasks();
    }
    if (life < 2) {
      journal.crash();
    } else {
      await settle(journal);
      expect(client.known).toEqual(log.entries);
    }
    if (life === 2) await Promise.all(passed);

    expect(client.known.map(e => e.seq)).toEqual(client.known.map((_, i) => i + 1));
    expect(client.journal.durableSeq).toBeLessThanOrEqual(client.known.length);
    const origins = client.delivered.map(e => `${e.origin.node}.${e.origin.epoch}.${e.origin.n}`);
    expect(new Set(origins).size).toBe(origins.length);
    for (const { n, reason } of client.failures) {
      const isThere = log.entries.some(
        ({ origin }) => origin.node === "n1" && origin.epoch === client.epoch && origin.n === n,
      );
      if (reason.outcome === "not_stored") expect(isThere).toBe(false);
      transcript.push(`${n} ${reason.outcome} ${isThere}`);
    }
    transcript.push(`life ${life}: found ${opened}, batches ${client.batches.join(" ")}`);
    transcript.push(origins.join(" "));
  }
  return transcript;
}

function expectDecided(client: Client, count: number): void {
  const decided = new Set(client.failures.map(f => f.n));
  for (const { origin } of client.delivered)
    if (origin.node === "n1" && origin.epoch === client.epoch) decided.add(origin.n);
  for (let n = 1; n <= count; n++) expect(decided.has(n)).toBe(true);
}

describe("the remote-like journal with faults", () => {
  it("keeps the promises of a journal, and does everything it may do", async () => {
    const all: string[] = [];
    for (let seed = 1; seed <= 50; seed++) all.push(...(await run(seed)));
    const count = (pattern: RegExp) => all.filter(line => pattern.test(line)).length;
    expect(count(/not_stored false/)).toBeGreaterThan(0);
    expect(count(/unknown true/)).toBeGreaterThan(0);
    expect(count(/unknown false/)).toBeGreaterThan(0);
    expect(count(/n2\.1\.\d+ n1/)).toBeGreaterThan(0);
    expect(count(/batches .*\b([5-9]|\d\d)\b/)).toBeGreaterThan(0);
  });

  it("does the same again for the same seed, and something else for another", async () => {
    expect(await run(7)).toEqual(await run(7));
    expect(await run(7)).not.toEqual(await run(8));
  });
});
