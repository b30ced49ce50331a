// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the files of a folder to a tokenizer.
#pragma once

#include "text/Tokenizer.h"
#include "text/files/Settings.h"

namespace attn {

/// What a folder's tokenizer is made of: the file with its vocabulary, and how it is read.
enum class FolderKind { None, Json, Pieces, Marian, Merges, WordPiece, Llama2, Characters };

/// The kind of a folder, and the file.
FolderKind kindOfFolder(const TextFolder &folder, const char *&file);

/// Reads the tokenizer of a folder with all that its settings say.
attn_status readFolder(const TextFolder &folder, Tokenizer &tokenizer, Error &error);

/// vocab.json and merges.txt by the settings' class.
attn_status readMerges(const TextFolder &folder, const TextSettings &settings, Tokenizer &tokenizer,
                       Error &error);

/// vocab.json, whose tokens are characters.
attn_status readCharacters(const TextFolder &folder, const TextSettings &settings,
                           Tokenizer &tokenizer, Error &error);

/// Gives the pieces of a .model the numbers that its class has.
bool numberPieces(ComponentReader &reader, const TextSettings &settings, Tokenizer &tokenizer);

/// Changes what was read of a .model as the settings' class does.
bool finishPieces(ComponentReader &reader, const TextSettings &settings, Tokenizer &tokenizer);

/// Changes what was read of a tokenizer.json where the settings say something else.
bool changeJson(ComponentReader &reader, const TextSettings &settings, Tokenizer &tokenizer);

/// A beginning and an end that the settings say, in place of what the tokenizer.json has.
bool changeJsonFrame(ComponentReader &reader, const TextSettings &settings, Tokenizer &tokenizer);

/// Adds the tokens of the settings. Where `hasNumbers`, those with an id get it, and those of the
/// class are added, too; else a token that is not there gets the next one.
bool addTokens(ComponentReader &reader, const TextSettings &settings, bool hasNumbers,
               Tokenizer &tokenizer);

/// What stands around a text, as the settings and their class have it.
bool addClassFrame(ComponentReader &reader, const TextSettings &settings, Tokenizer &tokenizer);

/// A beginning and an end where `add_bos_token` and `add_eos_token` say so.
bool addFlaggedFrame(ComponentReader &reader, const TextSettings &settings, Tokenizer &tokenizer);

} // namespace attn
