/** What is kept of shared projects while a machine has left its store. */
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CopyRefused } from "../../daemon/sharing/copy.ts";
import { LeaveRecords, type ProjectRecord } from "../../daemon/sharing/leave-records.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const as = "example.com/app";
const record: ProjectRecord = {
  ...{ as, before: { tasks: ["t-1"], keys: [] }, keys: { port: "digest" } },
  tasks: { "t-2": { createdAt: 5, status: "pending", labels: ["x"] } },
};

function opened() {
  const path = join(temporaryFolder(), "store-left.json");
  const troubles: string[] = [];
  const open = () =>
    new LeaveRecords({ path, onTrouble: (message, error) => troubles.push(`${message}: ${error}`) });
  return { path, open, troubles };
}

it("is on the disk for this user alone, for each project under the name of then", () => {
  const { path, open, troubles } = opened();
  const first = open();
  // Nothing to keep makes no file.
  first.put("/p", null);
  expect(existsSync(path)).toBe(false);
  first.put("/p", record);
  first.put("/q", { ...record, before: null });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  const second = open();
  expect(second.get("/p", as)).toEqual(record);
  expect(second.get("/p", "another")).toBeNull();
  second.put("/p", null);
  const third = open();
  expect([third.get("/p", as), third.get("/q", as)]).toEqual([null, { ...record, before: null }]);
  expect(troubles).toEqual([]);
});

it("is refused where the disk does not take it, and is as before then", () => {
  const { path, open } = opened();
  const records = open();
  records.put("/p", record);
  mkdirSync(`${path}.new`);
  writeFileSync(join(`${path}.new`, "in the way"), "");
  expect(() => records.put("/p", null)).toThrow(CopyRefused);
  expect(() => records.put("/q", record)).toThrow("cannot be written");
  expect([records.get("/p", as), records.get("/q", as)]).toEqual([record, null]);
  expect(open().get("/p", as)).toEqual(record);
});

it("is unknown, and said so, if the file is damaged", () => {
  for (const text of ["{", '{"version":2,"projects":[]}', '{"version":1,"projects":7}']) {
    const { path, open, troubles } = opened();
    writeFileSync(path, text, { mode: 0o600 });
    expect(open().get("/p", as)).toBeNull();
    expect(troubles).toEqual([expect.stringMatching(/^what the store had when this machine left it is not/)]);
  }
});
