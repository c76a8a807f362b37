/** A store of several servers: whichever of them takes writes is the store, at joining and after a failover. */
import { expect, it, onTestFinished } from "vitest";
import { freePort } from "../store/postgres-server.ts";
import { synchronousPair, withServer } from "../store/postgres-world.ts";
import { Machine, wide } from "./store-machine.ts";

await withServer("a store of several servers", (_server, bin) => {
  it("is joined and used by the one that takes writes, and after it failed by the next", async () => {
    const [primary, standby] = await synchronousPair(bin);
    for (const one of [primary, standby]) onTestFinished(() => one.end());
    const nobody = await freePort();
    const hosts = [nobody, standby.port, primary.port].map(port => `127.0.0.1:${port}`);
    const url = `postgresql://kite@${hosts.join(",")}/postgres`;
    const [a, b] = [await new Machine().start(), await new Machine().start()];
    await a.kite("task", "add", "before");
    expect(await a.kite("store", "join", url, "--yes")).toContain("1 open task");
    expect(a.config["store"]).toBe(url);
    await b.kite("store", "join", url, "--yes");
    await primary.kill();
    await standby.promote();
    const add = async () => (await b.home.command(["task", "add", "after"], wide, b.repo)).code;
    await expect.poll(add, { timeout: 60_000, interval: 500 }).toBe(0);
    for (const machine of [a, b])
      await expect.poll(() => machine.tasks(), { timeout: 60_000 }).toEqual(["before", "after"]);
    expect((await a.home.command(["doctor"], wide, a.repo)).out).toMatch(/store +PostgreSQL .* answers/);
  }, 180_000);

  it("of which none takes writes is refused, and each is named with what is wrong there", async () => {
    const [primary, standby] = await synchronousPair(bin);
    for (const one of [primary, standby]) onTestFinished(() => one.end());
    const machine = await new Machine().start();
    const nobody = await freePort();
    const join = (...ports: readonly number[]) => {
      const hosts = ports.map(port => `127.0.0.1:${port}`).join(",");
      return machine.fails("store", "join", `postgresql://kite@${hosts}/postgres`, "--yes");
    };
    const said = (await join(standby.port, nobody)).replace(/\s+/g, " ");
    expect(said).toContain(`127.0.0.1:${standby.port}: the server takes no writes: it is a standby`);
    expect(said).toContain(`127.0.0.1:${nobody}: connect ECONNREFUSED`);
    expect(machine.config).toEqual({});
  });
});
