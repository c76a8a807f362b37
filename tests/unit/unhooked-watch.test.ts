/** The watch for agents without hooks, over a world that it only reads: what it watches, and when. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Listeners } from "../../daemon/engine/log-view.ts";
import { UnhookedWatch, type WatchDirectory } from "../../daemon/hooks/edits/unhooked-watch.ts";
import { limits } from "../../protocol/limits.ts";

type Told = Parameters<Listeners["tell"]>;

const agent = (n: number) => `mcp-0000000${n}`;

let timers: (() => void)[] = [];
let live: Map<string, { id: string; project: string; worktree: string }>;
let files: Map<string, object>;
let byWorktree: Map<string, Set<string>>;
let open: Map<string, () => void>;
let warned: string[];
let listeners: Listeners;
let now: number;
let troubles: string[];
let hasFailed: () => void;

beforeEach(() => {
  now = 0;
  troubles = [];
  hasFailed = () => {};
  timers = [];
  live = new Map();
  files = new Map();
  byWorktree = new Map();
  open = new Map();
  warned = [];
  listeners = new Listeners();
});

afterEach(() => expect(troubles).toEqual([]));

/** Files with uncommitted work, each in a directory of its own. */
function dirty(project: string, count: number): void {
  for (let n = 0; n < count; n += 1) {
    const key = `${project}/${n}/f.ts`;
    files.set(key, { key, file: `${n}/f.ts`, worktree: project, project });
    byWorktree.set(project, (byWorktree.get(project) ?? new Set()).add(key));
  }
}

function begun(watchDirectory: WatchDirectory = opened): UnhookedWatch {
  const state = {
    sessions: { live, byProject: new Map() },
    locks: { holds: new Map(), actors: { bySession: new Map() } },
    writes: { files, byWorktree },
  };
  const services = {
    engine: { state },
    clock: {
      now: () => now,
      wall: () => 0,
      at: (_at: number, callback: () => void) => {
        timers.push(callback);
        return () => timers.splice(timers.indexOf(callback), 1);
      },
    },
    presence: { rows: new Map() },
    edits: {
      baselines: {
        seen: () => "",
        take: async () => {},
        changed: () => Promise.reject(new Error("the disk does not answer")),
      },
    },
    facts: { lexical: (_cwd: string, path: string) => path },
  };
  const warn = (problem: string) => warned.push(problem);
  const onTrouble = (message: string) => {
    troubles.push(message);
    hasFailed();
  };
  const watch = new UnhookedWatch(services as never, { listeners, warn, onTrouble, watchDirectory });
  listeners.add(watch.sessions);
  return watch;
}

const opened: WatchDirectory = dir => {
  const close = () => open.delete(dir);
  open.set(dir, close);
  return close;
};

function tell(event: string, id: string, type = "session_begin"): void {
  listeners.tell(
    { command: { type } } as unknown as Told[0],
    { events: [{ event: { event, id } }] } as unknown as Told[1],
  );
}

function starts(id: string, project: string): void {
  live.set(id, { id, project, worktree: project });
  tell("session_started", id);
}

function due(): void {
  for (const callback of timers.splice(0)) callback();
}

describe("the watch", () => {
  it("watches nothing, and hears of no lock, while every agent has hooks", () => {
    dirty("/p", 3);
    const watch = begun();
    starts("65bca144-cfa5-454f-b470-e84bd4e53d4c", "/p");
    tell("lock_granted", "x", "lock_request");
    expect([watch.watched, timers]).toEqual([[], []]);
  });

  it("watches each directory with such files of its project once, until the last such agent ends", () => {
    dirty("/p", 2);
    dirty("/other", 2);
    const watch = begun();
    starts(agent(1), "/p");
    starts(agent(2), "/p");
    due();
    expect(watch.watched).toEqual(["/p/1", "/p/0"]);
    files.delete("/p/1/f.ts");
    byWorktree.get("/p")?.delete("/p/1/f.ts");
    tell("lock_released", "x", "lock_release");
    due();
    expect([...open.keys()]).toEqual(["/p/0"]);
    tell("session_ended", agent(1), "session_end");
    due();
    expect([...open.keys()]).toEqual(["/p/0"]);
    tell("session_ended", agent(2), "session_end");
    expect([...open.keys(), ...timers]).toEqual([]);
    tell("lock_granted", "x", "lock_request");
    expect(timers).toEqual([]);
  });

  it("looks at the next change, too, where a look failed", async () => {
    dirty("/p", 1);
    let changed: (name: string) => void = () => {};
    begun((_dir, told) => {
      changed = told;
      return () => {};
    });
    starts(agent(1), "/p");
    due();
    for (let n = 1; n <= 2; n += 1) {
      const failed = new Promise<void>(resolve => {
        hasFailed = resolve;
      });
      changed("f.ts");
      now += limits.watchSettleMs;
      due();
      await failed;
      expect(troubles).toHaveLength(n);
    }
    troubles = [];
  });

  it("begins with the agents that an earlier daemon knew, and ends with the daemon", () => {
    dirty("/p", 1);
    live.set(agent(1), { id: agent(1), project: "/p", worktree: "/p" });
    const watch = begun();
    due();
    expect(watch.watched).toEqual(["/p/0"]);
    watch.close();
    expect([...open.keys(), ...timers]).toEqual([]);
  });

  it("watches so many directories at most", () => {
    for (const [n, project] of ["/p", "/q"].entries()) {
      dirty(project, limits.watchedDirectoriesMax);
      live.set(agent(n), { id: agent(n), project, worktree: project });
    }
    const watch = begun();
    due();
    expect(watch.watched).toHaveLength(limits.watchedDirectoriesMax);
  });

  it("goes on with what it has where the system allows no more, and says so once", () => {
    dirty("/p", 5);
    const watch = begun((dir, ...more) => {
      if (open.size === 2) throw Object.assign(new Error("no space"), { code: "ENOSPC", syscall: "watch" });
      return opened(dir, ...more);
    });
    starts(agent(1), "/p");
    due();
    tell("lock_granted", "x", "lock_request");
    due();
    expect(watch.watched).toHaveLength(2);
    expect(warned).toEqual([expect.stringMatching(/^Kite watches 2 directories .*ENOSPC/)]);
  });

  it("leaves out a directory that is gone", () => {
    dirty("/p", 2);
    const watch = begun((dir, ...more) => {
      if (dir === "/p/1") throw Object.assign(new Error("gone"), { code: "ENOENT", syscall: "watch" });
      return opened(dir, ...more);
    });
    starts(agent(1), "/p");
    due();
    expect([watch.watched, warned]).toEqual([["/p/0"], []]);
  });
});
