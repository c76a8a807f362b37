/** Branches of two machines that changed one file, over one real PostgreSQL and with real commits. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { withServer } from "../journal/postgres-world.ts";
import type { Message } from "./daemon.ts";
import { agentAt, commit, edited, machineOn, prompted, wrote } from "./store-branches.ts";
import { database, type Machine } from "./store-machine.ts";

const patient = { timeout: 60_000 };

await withServer("the same file over a store", server => {
  /** Two machines of one store, with an agent on a branch of its own each. */
  const pair = async () => {
    const url = await database(server);
    const [a, b] = [await machineOn("paging"), await machineOn("login")];
    for (const machine of [a, b]) await machine.kite("store", "join", url, "--yes");
    const [alice, bob] = [await agentAt(a, "alice"), await agentAt(b, "bob")];
    return { a, b, alice, bob };
  };

  it("is shown on both machines and told to both agents, until one side has it no more", {
    timeout: 240_000,
  }, async () => {
    const { a, b, alice, bob } = await pair();
    const looker = await a.home.connect();
    await looker.ask({ type: "subscribe" });
    commit(a, "prices.ts", "one");
    commit(b, "prices.ts", "two");
    await prompted(alice, a, "alice");
    await prompted(bob, b, "bob");
    const row = (own: string, other: string) => new RegExp(`Same file: .*\\n +prices\\.ts +${own} +${other}`);
    await expect
      .poll(() => a.kite("status"), patient)
      .toMatch(row("alice \\(paging\\)", "bob@.* \\(login\\)"));
    await expect
      .poll(() => b.kite("status"), patient)
      .toMatch(row("bob \\(login\\)", "alice@.* \\(paging\\)"));
    const { sameFiles } = (await a.json("status")) as unknown as { readonly sameFiles: readonly unknown[] };
    expect(sameFiles).toMatchObject([{ file: "prices.ts", project: a.repo }]);
    await expect.poll(() => prompted(alice, a, "alice"), patient).toContain("the same file");
    expect(await prompted(alice, a, "alice")).not.toContain("the same file");
    // Bob's branch comes to the same content.
    commit(b, "prices.ts", "one");
    await prompted(bob, b, "bob");
    await expect.poll(() => a.kite("status"), patient).not.toContain("Same file");
    const isOwn = ({ sides }: Message) => JSON.stringify(sides).startsWith('[{"id":"alice","name":"alice"');
    for (const event of ["same_file_began", "same_file_ended"])
      expect(await looker.event(event, isOwn)).toMatchObject({ files: ["prices.ts"], project: a.repo });
    const log = async (machine: Machine) =>
      (await machine.kite("log")).split("\n").filter(line => line.includes(" same file "));
    // Each machine writes its trail when it has heard.
    await expect
      .poll(() => log(a), patient)
      .toEqual([
        expect.stringMatching(/ alice +same file +prices\.ts +bob@\S+ changed it, too, on branch login$/),
        expect.stringMatching(
          / alice +same file +prices\.ts +the risk with bob@\S+ on branch login is over$/,
        ),
      ]);
    await expect
      .poll(() => log(b), patient)
      .toEqual([
        expect.stringMatching(/ bob +same file +prices\.ts +alice@\S+ changed it, too, on branch paging$/),
        expect.stringMatching(
          / bob +same file +prices\.ts +the risk with alice@\S+ on branch paging is over$/,
        ),
      ]);
  });

  it("is shown and told before anybody commits, and is over when one side takes its work back", {
    timeout: 240_000,
  }, async () => {
    const { a, b, alice, bob } = await pair();
    await edited(alice, a, "alice", "src/new.ts");
    // Bob's turn goes on, with edits alone.
    await wrote(bob, b, "bob", "src/new.ts");
    const row =
      /Same file: .*\n +src\/new\.ts +alice \(paging, not committed\) +bob@\S+ \(login, not committed\)/;
    await expect.poll(() => a.kite("status"), patient).toMatch(row);
    await expect
      .poll(() => prompted(alice, a, "alice"), patient)
      .toContain("has uncommitted changes of the same file");
    await expect
      .poll(() => prompted(bob, b, "bob"), patient)
      .toContain("has uncommitted changes of the same file");
    rmSync(join(b.repo, "src/new.ts"));
    await prompted(bob, b, "bob");
    await expect.poll(() => a.kite("status"), patient).not.toContain("Same file");
  });
});
