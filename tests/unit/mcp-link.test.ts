/** The way of the tools' program to the daemon, where there is none. */
import { writeFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Link } from "../../bin/mcp/server.ts";
import { NotRunning } from "../../client/errors.ts";
import { Stage } from "./fake-daemon.ts";

let stage: Stage;

beforeEach(() => {
  stage = new Stage();
});
afterEach(() => stage.clear());

function link(): Link {
  const made = new Link(stage.paths, { CI: "true" });
  stage.after(() => void made.close());
  return made;
}

const restarting = { ok: false, error: "come back", code: "restarting" };

describe("a call while the daemon is dead", () => {
  it("says so at once, and not when the connection is given up", async () => {
    const way = link();
    const daemon = await stage.daemon();
    const client = await way.client();
    const cut = client.request("ping", {});
    await daemon.next("ping");
    await daemon.stop();
    await expect(client.request("shutdown", {})).rejects.toThrow();
    await expect(way.client()).rejects.toThrow(NotRunning);
    await expect(way.own()).rejects.toThrow("Kite starts none in CI");
    // The other request still waits for it: nobody waited until that ended.
    expect(client.absence).toBe("gone");
    await stage.daemon(({ type }) => (type === "ping" ? { ok: true, pong: true } : undefined));
    // What is there counts: the call is made on the connection that the other request waits for.
    expect(await way.client()).toBe(client);
    expect(client.absence).toBeNull();
    expect(await cut).toEqual({ ok: true, pong: true });
  });

  it("waits where the daemon said that it restarts", async () => {
    const way = link();
    const daemon = await stage.daemon(({ type }) => (type === "ping" ? restarting : undefined));
    const client = await way.client();
    const cut = client.request("ping", {});
    // The second one shows that the answer to the first was heard.
    for (let n = 0; n < 2; n += 1) await daemon.next("ping");
    await daemon.stop();
    await expect(client.request("shutdown", {})).rejects.toThrow();
    expect(client.absence).toBe("restarting");
    const waiting = way.client();
    await stage.daemon(({ type }) => (type === "ping" ? { ok: true, pong: true } : undefined));
    expect(await waiting).toBe(client);
    expect(await cut).toEqual({ ok: true, pong: true });
  });

  it("says that kite down was said, though the daemon spoke of a restart", async () => {
    const way = link();
    const daemon = await stage.daemon(({ type }) => (type === "ping" ? restarting : undefined));
    const client = await way.client();
    const cut = expect(client.request("ping", {})).rejects.toThrow("closed");
    for (let n = 0; n < 2; n += 1) await daemon.next("ping");
    await daemon.stop();
    await expect(client.request("shutdown", {})).rejects.toThrow();
    writeFileSync(stage.paths.downFile, "");
    await expect(way.client()).rejects.toThrow("`kite down` stopped it");
    client.close();
    await cut;
  });
});
