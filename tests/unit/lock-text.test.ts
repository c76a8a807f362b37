import { describe, expect, it } from "vitest";
import { actorRow, fileLists, pathOf, tokenText } from "../../daemon/core/tables/naming.ts";
import { limits } from "../../protocol/limits.ts";
import { actor, World } from "./core-world.ts";

describe("locks in words", () => {
  it("name an actor by its session, its terminal if it is a later one, and its agent", () => {
    const w = new World();
    w.begin("0123456789", { name: "alice" });
    const of = (agent: string | null, incarnation: number) =>
      actorRow(w.state, { session: "0123456789", agent, incarnation }).name;
    expect([of(null, 0), of("explorer-17", 0), of(null, 1), of("e", 2)]).toEqual([
      "alice",
      "alice/explorer",
      "alice#2",
      "alice#3/e",
    ]);
    expect(actorRow(w.state, actor("who-is-not-known")).name).toBe("who-is-n");
  });

  it("cut long lists of files and count the rest", () => {
    const files = (n: number) => Array.from({ length: n }, (_, i) => ({ file: `${i}`, key: `n:/p/${i}` }));
    expect(fileLists(files(2))).toEqual({ files: ["0", "1"], paths: ["/p/0", "/p/1"] });
    expect(fileLists(files(limits.eventFilesMax))).not.toHaveProperty("more");
    const long = fileLists(files(limits.eventFilesMax + 3));
    expect([long.files.length, long.paths.length, long.more]).toEqual([
      limits.eventFilesMax,
      limits.eventFilesMax,
      3,
    ]);
  });

  it("give a key's path back, the root's too", () => {
    const paths = ["n:/p/x", "n:", "n:/with:colon"].map(key => pathOf({ key }));
    expect(paths).toEqual(["/p/x", "/", "/with:colon"]);
    expect(pathOf({ key: "n:/p/readme", path: "/p/README" })).toBe("/p/README");
  });

  it("write a token as store, epoch and grant", () => {
    const w = new World();
    expect(tokenText(w.state, { epoch: 3, grant: 14 })).toBe("store.3.14");
  });

  it("keep the published words of a refusal, with whole seconds and the first eight of the id", () => {
    const w = new World();
    w.begin("0123456789", { name: "alice" });
    w.lock("0123456789", "x");
    w.pass(2999);
    expect(w.lock("b", "x", { depth: 0 })).toEqual({
      ok: false,
      code: "lock_queue_full",
      error: "file locked by 01234567, queue full",
      file: "x",
      path: "/p/x",
      locked_by: "0123456789",
      locked_by_name: "alice",
      locked_by_agent: null,
      locked_ago: 2,
      queued: false,
    });
    w.lock("b", "x", { waitMs: 1500 });
    const b = w.n;
    w.pass(1500);
    expect(w.answers.get(b)?.reply).toMatchObject({ error: "lock queue timeout (1.5s)", locked_ago: 4 });
  });

  it("name the whole cycle of a deadlock", () => {
    const w = new World();
    w.begin("a", { name: "alice" });
    w.begin("b", { name: "bob" });
    w.lock("a", "x");
    w.lock("b", "y");
    w.lock("a", "y");
    expect(w.lock("b", "x")).toMatchObject({
      error:
        "deadlock: bob waits for x behind alice, alice waits for y behind bob; release what you hold first",
      cycle: [
        { waits: "bob", file: "x", for: "alice" },
        { waits: "alice", file: "y", for: "bob" },
      ],
    });
  });
});
