// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What Hugging Face's library makes of texts: the npm package @anush008/tokenizers, which is their Rust code for Node.
//
//   node oracle.js TOKENIZER.json TEXTS.json OUT.json
//
// TEXTS is an array of strings; one with U+001F is two texts. OUT: for each its ids, its offsets in characters of Python's
// kind, types, and the text of the ids; null where the library fails.
const { Tokenizer } = require("@anush008/tokenizers");
const fs = require("fs");

async function main() {
  const tokenizer = Tokenizer.fromFile(process.argv[2]);
  const out = [];
  for (const text of JSON.parse(fs.readFileSync(process.argv[3], "utf8"))) {
    const [first, second] = text.split("\x1f");
    try {
      const tokens = await tokenizer.encode(first, second ?? null, { addSpecialTokens: true });
      const ids = tokens.getIds();
      out.push({
        ids,
        offsets: tokens.getOffsets().flat(),
        types: tokens.getTypeIds(),
        decoded: ids.length ? await tokenizer.decode(ids, false) : "",
      });
    } catch (error) {
      out.push(null);
    }
  }
  fs.writeFileSync(process.argv[4], JSON.stringify(out));
}

main();
