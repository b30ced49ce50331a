// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declarations of how pictures and sounds become tensors.
#include "compiler/frontend/syntax/ParseDeclarations.h"
#include "compiler/frontend/syntax/ParseExpressions.h"
#include "compiler/frontend/syntax/ParseParts.h"

namespace attn::frontend {

using namespace ast;

/// A number, or one per channel in brackets.
static std::vector<ExprPtr> parseChannelValues(Parser &parser) {
  std::vector<ExprPtr> values;
  if (parser.is(TokenKind::LeftBracket)) {
    SourceRange open = parser.consume().range;
    parser.parseList(TokenKind::RightBracket, open, [&] { values.push_back(parseExpr(parser)); });
  } else {
    values.push_back(parseExpr(parser));
  }
  return values;
}

/// Behind `patches`: `2 of 3136 to 1003520 pixels`, `3 of 645120 pixels`, or `2 within 1540
/// pixels`.
static void parsePatches(Parser &parser, ImageDecl &image) {
  image.merged = parseExpr(parser);
  if (parser.acceptWord("within")) {
    image.edge = parseExpr(parser);
    parser.expectWord("pixels", DiagCode::UnexpectedToken, "behind the longer edge");
    return;
  }
  if (!parser.expectWord("of", DiagCode::UnexpectedToken, "and how many pixels pictures have"))
    return;
  image.mostPixels = parseExpr(parser);
  if (parser.acceptWord("to")) {
    image.leastPixels = std::move(image.mostPixels);
    image.mostPixels = parseExpr(parser);
  }
  parser.expectWord("pixels", DiagCode::UnexpectedToken, "behind the most");
}

/// Behind `tiles`: `of 2048 pixels`, or `1 to 12`.
static void parseTiles(Parser &parser, ImageDecl &image) {
  if (parser.acceptWord("of")) {
    image.edge = parseExpr(parser);
    parser.expectWord("pixels", DiagCode::UnexpectedToken, "behind the longer edge");
    return;
  }
  image.leastTiles = parseExpr(parser);
  if (parser.expectWord("to", DiagCode::UnexpectedToken, "and how many tiles there are at most"))
    image.mostTiles = parseExpr(parser);
}

/// Behind `prompt`: the mark of a picture, what it becomes, what is put where there is none, and
/// what is put around the text behind the pictures.
static void parsePicturePrompt(Parser &parser, ImageDecl &image) {
  image.mark = parsePattern(parser, "what stands for a picture in a prompt, in quotes");
  if (parser.acceptWord("as"))
    image.shown = parsePattern(parser, "what that becomes, in quotes");
  for (auto [word, text] :
       {std::pair("tile", &image.tile), {"line", &image.line}, {"whole", &image.whole}})
    if (parser.acceptWord(word))
      *text = parsePattern(parser, "what stands there in a prompt, in quotes");
  if (parser.acceptWord("alone"))
    image.alone = parsePattern(parser, "what begins a prompt without one, in quotes");
  if (parser.acceptWord("begin"))
    image.begin = parsePattern(parser, "what stands behind the last picture, in quotes");
  if (parser.acceptWord("end"))
    image.end = parsePattern(parser, "what ends a prompt with pictures, in quotes");
}

ItemPtr parseImage(Parser &parser) {
  auto image = std::make_unique<ImageDecl>(parser.consume().range);
  if (!parser.expectWord("input", DiagCode::UnexpectedToken, "after `image`"))
    return image;
  image->height = parseExpr(parser);
  if (!parser.expectWord("x", DiagCode::UnexpectedToken, "between height and width"))
    return image;
  image->width = parseExpr(parser);
  if (parser.acceptWord("from")) {
    image->fromHeight = parseExpr(parser);
    if (parser.acceptWord("x"))
      image->fromWidth = parseExpr(parser);
  }
  if (image->fromHeight
          ? parser.isWord("round") || parser.isWord("padded")
          : parser.isWord("within") || parser.isWord("patches") || parser.isWord("tiles"))
    image->fit = parseName(parser, "how the picture fits");
  if (image->fit && image->fit->text == "patches")
    parsePatches(parser, *image);
  else if (image->fit && image->fit->text == "tiles")
    parseTiles(parser, *image);
  if (parser.is(TokenKind::Word) && !parser.current().isReserved() && !parser.isWord("mean") &&
      !parser.isWord("std") && !parser.isWord("prompt") && !parser.startsItem())
    image->resampling = parseName(parser, "how to resample");
  if (parser.acceptWord("mean"))
    image->mean = parseChannelValues(parser);
  if (parser.acceptWord("std"))
    image->std = parseChannelValues(parser);
  if (parser.acceptWord("prompt"))
    parsePicturePrompt(parser, *image);
  return image;
}

ItemPtr parseSound(Parser &parser) {
  auto sound = std::make_unique<SoundDecl>(parser.consume().range);
  if (!parser.expectWord("input", DiagCode::UnexpectedToken, "after `sound`"))
    return sound;
  if (parser.acceptWord("samples")) {
    if (parser.acceptWord("rate"))
      sound->rate = parseExpr(parser);
    if (parser.isWord("unit"))
      sound->unit = parseName(parser, "how samples are scaled");
    return sound;
  }
  sound->bands = parseExpr(parser);
  if (!parser.expectWord("x", DiagCode::UnexpectedToken, "between bands and frames"))
    return sound;
  sound->frames = parseExpr(parser);
  if (parser.isWord("kaldi"))
    sound->form = parseName(parser, "which spectrogram");
  for (auto [word, value] : {std::pair("rate", &sound->rate),
                             {"fft", &sound->fft},
                             {"hop", &sound->hop},
                             {"mean", &sound->mean},
                             {"std", &sound->std}})
    if (parser.acceptWord(word))
      *value = parseExpr(parser);
  return sound;
}

} // namespace attn::frontend
