/**
 * Runs the built `kite` as a plain user, since the system refuses nothing to root: one process for all commands of a test.
 * It takes `{argv, cwd}` over its channel, one after the other, and answers `{code, out, err}`.
 */
import { pathToFileURL } from "node:url";

const [, , program, folder] = process.argv;
const { start } = await import(pathToFileURL(`${folder}/any-command.mjs`).href);
let said = { out: "", err: "" };
for (const [name, stream] of [
  ["out", process.stdout],
  ["err", process.stderr],
]) {
  // Each command adds listeners of its own.
  stream.setMaxListeners(0);
  stream.write = text => {
    said[name] += text;
    return true;
  };
}

process.on("message", async ({ argv, cwd }) => {
  said = { out: "", err: "" };
  process.exitCode = 0;
  try {
    process.chdir(cwd);
    process.argv = [process.execPath, program, ...argv];
    await start();
  } catch (error) {
    process.exitCode = 70;
    said.err += error.stack;
  }
  process.send({ code: process.exitCode, ...said });
});
process.on("disconnect", () => process.exit());
process.send("ready");
