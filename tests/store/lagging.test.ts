/**
 * A standby takes over that lacks what was acknowledged. Nobody can bring that back; but each daemon goes on with what the store
 * has, alone or killed or paused meanwhile, and nothing that is acknowledged from then on is lost.
 */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, expect, it } from "vitest";
import { storeText } from "../../bin/view/store.ts";
import type { StoreRow } from "../../protocol/schemas/store.ts";
import { withServer } from "../journal/postgres-world.ts";
import { Random } from "../simulation/random.ts";
import { buildDaemon, quickBounds } from "./build.ts";
import { declarationFaults } from "./declaration-faults.ts";
import { Declarer } from "./declarations.ts";
import { faultsOfAnswer } from "./judge.ts";
import { Machine, Store } from "./machines.ts";
import { History, outcomeOf } from "./operations.ts";
import { faultsOfMachine, settledFaults } from "./settled.ts";
import { readSharedLog, requestKey } from "./shared-log.ts";
import { viewFaults } from "./views.ts";
import { comeAndGo, emptyCommon, Worker } from "./workload.ts";

const settleMs = 60_000;
const count = Number(process.env["KITE_SEEDS"] ?? 3);
const first = Number(process.env["KITE_SEED"] ?? 1);
const seeds = Array.from({ length: count }, (_, i) => first + i);

/** Whether people at the machine read that something may be missing. */
async function saysSo(machine: Machine): Promise<boolean> {
  const client = await machine.connect();
  const { store } = (await client.ask({ type: "store_show" })) as { readonly store?: StoreRow };
  client.destroy();
  return store !== undefined && storeText(store, Date.now())?.startsWith("store went back at ") === true;
}

/** Refusals of what is about a task, a debate or an answer in it that went with the entries. */
const ofWhatIsGone: ReadonlySet<string | null> = new Set(["unknown_task", "unknown_debate", "not_in_debate"]);

await withServer("a standby that lacks entries", (_server, bin) => {
  const quick = buildDaemon(quickBounds);
  afterAll(async () => (await quick).remove());

  it.each(seeds)(
    "takes over, and all go on with what it has: history %i",
    { timeout: 360_000 },
    async seed => {
      const random = new Random(seed);
      const store = await Store.withLateStandby(bin);
      const { program } = await quick;
      const { doors, database } = store;
      const machines = await Promise.all(
        [0, 1, 2].map(index => Machine.make({ index, program, skew: null, doors, database })),
      );
      try {
        const history = new History();
        const common = emptyCommon(history);
        await Promise.all(machines.map(machine => machine.start()));
        await Promise.all(machines.map(machine => machine.share()));
        await store.keepAll();
        let isOver = false;
        const declared = new Random(-seed);
        const working = Promise.all([
          ...machines.flatMap(machine =>
            [0, 1].map(slot => new Worker(machine, slot, random.fork(), common).run(() => isOver)),
          ),
          ...machines.map(machine => comeAndGo(machine, random.fork(), common, () => isOver)),
          ...machines.map(machine => new Declarer(machine, declared.fork(), common).run(() => isOver)),
        ]);
        working.catch(() => {});
        await delay(random.int(500, 1_500));
        await store.loseStandby();
        const [alone, killed, paused] = machines as [Machine, Machine, Machine];
        await delay(random.int(500, 2_000));
        if (random.chance(0.5)) await killed.kill();
        if (random.chance(0.5)) paused.daemon.signal("SIGSTOP");
        await store.kill();
        const lostFrom = history.next();
        await store.comeBack();
        await delay(random.int(0, 1_500));
        if (killed.isKilled) await killed.start();
        paused.daemon.signal("SIGCONT");
        const { entries: kept } = await readSharedLog(store);
        await delay(random.int(1_500, 3_000));
        const back = history.next();
        await delay(1_500);
        isOver = true;
        const isHeard = await Promise.race([
          working.then(() => true),
          delay(settleMs, false, { ref: false }),
        ]);
        history.isOver = true;
        await working;
        const wrong = isHeard ? [] : [`a session heard nothing for ${settleMs} ms although all was well`];
        wrong.push(...(await settledFaults(store, machines, common.speakers, settleMs)));
        wrong.push(...(await viewFaults(store, machines, common.speakers, settleMs)));
        wrong.push(...(await declarationFaults(machines, common.declarations, settleMs)));
        wrong.push(...common.declarations.wrong);
        for (const speaker of common.speakers) speaker.close();
        if (!(await saysSo(alone))) wrong.push("no person reads that the store went back");
        await Promise.all(machines.map(machine => machine.stop()));
        const log = await readSharedLog(store);
        wrong.push(...log.wrong);
        for (const machine of machines) wrong.push(...(await faultsOfMachine(machine, log)));
        for (const operation of history.operations)
          if (operation.from > back && !ofWhatIsGone.has(outcomeOf(operation)))
            wrong.push(...faultsOfAnswer(operation, log));
        expect(wrong, `${kept.length} entries were left`).toEqual([]);
        const lost = history.operations.filter(
          ({ machine, session, request, reply, to }) =>
            reply?.["ok"] === true &&
            to !== null &&
            to < lostFrom &&
            !["register", "deregister", "declare"].includes(String(request["type"])) &&
            !log.byRequest.has(requestKey(machine.node, session, String(request["requestId"]))),
        );
        // Or it was no standby that lacks anything.
        expect(lost.length).toBeGreaterThan(0);
      } finally {
        await Promise.all(machines.map(machine => machine.dispose()));
        for (const one of store.servers) one.end();
      }
    },
  );
});
