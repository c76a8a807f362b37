/** A machine whose setting names another store than the one that it joined, or the same by another address. */
import { expect, it } from "vitest";
import { withServer } from "../store/postgres-world.ts";
import type { Message } from "./daemon.ts";
import { database, Machine, wide } from "./store-machine.ts";

await withServer("another store in the settings", server => {
  const restart = async (machine: Machine) => {
    await machine.kite("down", "--yes");
    await machine.kite("up");
  };

  it("shares nothing there, and is named with the ways back and out", async () => {
    const [url, other] = [await database(server), await database(server)];
    const [machine, stranger] = [await new Machine().start(), await new Machine().start()];
    await machine.kite("task", "add", "of the first store");
    await machine.kite("store", "join", url, "--yes");
    await stranger.kite("store", "join", other, "--yes");
    await machine.kite("config", "set", "store", other);
    await restart(machine);
    const names = expect.stringContaining(`another store than ${url}, which this machine joined`);
    await expect.poll(() => machine.kite("status"), { timeout: 30_000 }).toEqual(names);
    // Also when it begins once more: what is known stays that of the first store.
    await restart(machine);
    await expect.poll(() => machine.kite("status"), { timeout: 30_000 }).toEqual(names);
    expect((await machine.home.command(["doctor"], wide, machine.repo)).out).toEqual(names);
    for (const words of [
      ["task", "add", "no"],
      ["store", "share", "--yes"],
      ["store", "leave", "--yes"],
    ])
      expect((await machine.fails(...words)).replace(/\s+/g, " ")).toEqual(names);
    expect(await machine.tasks()).toEqual(["of the first store"]);
    expect(await stranger.tasks()).toEqual([]);
    expect(((await stranger.json("store")) as { nodes: Message[] }).nodes).toHaveLength(1);
    // The sentence names how to go back.
    await machine.kite("config", "set", "store", url);
    await restart(machine);
    await expect.poll(() => machine.kite("status"), { timeout: 30_000 }).toMatch(/^Store .*: 1 machine: /m);
    const left = await machine.kite("store", "leave", "--yes");
    expect(left).toContain("1 open task and 0 durable context keys are back");
    await machine.kite("store", "join", other, "--yes");
    await expect.poll(() => stranger.tasks()).toEqual(["of the first store"]);
  }, 180_000);

  it("by another address is the same store", async () => {
    const url = await database(server);
    const machine = await new Machine().start();
    await machine.kite("task", "add", "shared");
    await machine.kite("store", "join", url, "--yes");
    await machine.kite("config", "set", "store", url.replace("127.0.0.1", "localhost"));
    await restart(machine);
    await expect
      .poll(() => machine.kite("status"), { timeout: 30_000 })
      .toMatch(/^Store .*localhost.*: 1 machine: /m);
    expect(await machine.tasks()).toEqual(["shared"]);
  }, 120_000);
});
