import { describe, expect, it } from "vitest";
import { PresenceTable, Recency } from "../../daemon/sessions/presence.ts";
import { Random } from "../simulation/random.ts";

describe("names by how lately they were seen", () => {
  it("stand as in a list from which each is taken and put in front, whatever comes and goes", () => {
    const random = new Random(7);
    const recency = new Recency();
    let plain: string[] = [];
    for (let i = 0; i < 5_000; i += 1) {
      const name = `s${random.int(0, 11)}`;
      plain = plain.filter(one => one !== name);
      if (random.int(0, 2) === 0) recency.delete(name);
      else {
        recency.seen(name);
        plain.unshift(name);
      }
      expect([...recency]).toEqual(plain);
      expect(recency.size).toBe(plain.length);
    }
  });
});

describe("the sessions of a project", () => {
  it("come with the one that was seen last first, wherever they moved meanwhile", () => {
    const presence = new PresenceTable({ now: () => 1, wall: () => 1, at: () => () => {} });
    for (const id of ["a", "b", "c"]) presence.placed(id, "/p");
    presence.seen("a");
    expect([...presence.latestIn("/p")]).toEqual(["a", "c", "b"]);
    presence.placed("c", "/q");
    presence.placed("a", "/p");
    expect([...presence.latestIn("/p")]).toEqual(["a", "b"]);
    expect([...presence.latestIn("/q")]).toEqual(["c"]);
    presence.forget("a");
    presence.seen("a");
    expect([...presence.latestIn("/p")]).toEqual(["b"]);
  });
});
