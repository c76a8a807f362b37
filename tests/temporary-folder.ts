import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, onTestFinished, TestRunner } from "vitest";

/**
 * Makes a folder below the system's temporary one, and returns its real path. It is removed with all that is in it when
 * the test ends, after its `afterEach`; when made outside of tests, at the top of a file or of a `describe`, when all
 * tests there have ended.
 */
export function temporaryFolder(prefix = "kite-"): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), prefix)));
  // A process that was ended may still add a file with its last call.
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 9 });
  if (TestRunner.getCurrentTest() === undefined) afterAll(remove);
  else onTestFinished(remove);
  return folder;
}
