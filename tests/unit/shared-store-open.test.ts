/** Opening a store that machines share: what one project's rows may cost the others. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Connection } from "../../daemon/store/connection.ts";
import { format } from "../../daemon/store/schema.ts";
import { Store, type StoreProject, storeLimits } from "../../daemon/store/store.ts";
import { serverError } from "./shared-project-world.ts";

/** A connection to a store with tables, and nothing in them. */
class Fake {
  isLost = false;
  readonly onLost = () => {};
  readonly listen = async () => {};
  readonly end = async () => {};
  readonly destroy = () => {
    this.isLost = true;
  };
  readonly query = async (text: string) => {
    if (text.includes("SELECT store, number")) return [["store-1", format]];
    return text.includes("RETURNING machine") ? [["laptop"]] : [];
  };
}

class Project implements StoreProject {
  readonly name: string;
  number: number | null = null;
  failures: Error[];
  reads = 0;
  isAway = false;

  constructor(name: string, ...failures: Error[]) {
    this.name = name;
    this.failures = failures;
  }

  async reached(): Promise<void> {
    this.reads += 1;
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
    this.number = 1;
  }

  away(): void {
    this.isAway = true;
  }

  look(): void {}
}

const troubles: string[] = [];
const conditions: string[] = [];
let store: Store;

beforeEach(() => {
  troubles.length = 0;
  conditions.length = 0;
  vi.spyOn(Connection, "open").mockImplementation(async () => new Fake() as unknown as Connection);
  store = new Store({
    ...{ address: { hosts: [], database: "d", user: "u", schema: "kite" }, node: "n1", machine: "laptop" },
    ...{ binding: "b", program: "0", goneMs: 1_000, expected: null },
    limits: { ...storeLimits, pollMs: 20, pauseMs: 5 },
    onCondition: ({ is }) => void conditions.push(is),
    onTrouble: (message, error) => void troubles.push(`${message}: ${String(error)}`),
  });
});
afterEach(async () => {
  await store.close();
  vi.restoreAllMocks();
});

describe("a store", () => {
  it("is open although one project's rows cannot be read", async () => {
    const [bad, good] = [new Project("bad", new SyntaxError("no JSON")), new Project("good")];
    for (const one of [bad, good]) store.add(one);
    store.start();
    await vi.waitFor(() => expect(store.condition.is).toBe("open"), { timeout: 60_000 });
    expect(good.number).toBe(1);
    expect(troubles).toEqual(["bad cannot be read: SyntaxError: no JSON"]);
  });

  it("reads a project again that could not be read", async () => {
    store.start();
    await vi.waitFor(() => expect(store.condition.is).toBe("open"), { timeout: 60_000 });
    const project = new Project("late", serverError("40001"));
    store.add(project);
    await vi.waitFor(() => expect(project.number).toBe(1), { timeout: 60_000 });
    expect(project.reads).toBe(2);
  });

  it("is away if the server refuses what every project needs, and is tried again", async () => {
    const project = new Project("one", serverError("42P01"));
    store.add(project);
    store.start();
    await vi.waitFor(() => expect(store.condition.is).toBe("open"), { timeout: 60_000 });
    expect(conditions).toEqual(["away", "open"]);
    expect(project.reads).toBe(2);
  });

  it("ends with no timer left", async () => {
    const set = vi.spyOn(globalThis, "setInterval");
    const clear = vi.spyOn(globalThis, "clearTimeout");
    store.start();
    await vi.waitFor(() => expect(store.condition.is).toBe("open"), { timeout: 60_000 });
    await store.close();
    const cleared = new Set(clear.mock.calls.map(([timer]) => timer));
    for (const { value } of set.mock.results) if (value !== undefined) expect(cleared.has(value)).toBe(true);
    expect(set.mock.results.length).toBeGreaterThan(1);
  });
});
