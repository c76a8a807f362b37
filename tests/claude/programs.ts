/** The programs that the scenes play: the real client, and Kite as it was built. */
import { fileURLToPath } from "node:url";

export const programs = {
  claude: process.env["KITE_TEST_CLAUDE"] ?? "",
  kite: fileURLToPath(new URL("../../dist/kite.cjs", import.meta.url)),
};
if (programs.claude === "")
  throw new Error("these tests need the real client; run them with: npm run test:claude");
