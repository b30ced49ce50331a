// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formats of strings that are read, a row each.
#include "text/grammar/SchemaReader.h"

using namespace attn;
using namespace attn::grammar;

#define BYTE "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
#define DATE                                                                                       \
  "[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|"         \
  "02-(0[1-9]|1[0-9]|2[0-8]))"
#define LEAP "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29"
#define TIME                                                                                       \
  "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
// Labels with two hyphens, as those of other scripts have, are not among them.
#define LABEL "[A-Za-z0-9](-?[A-Za-z0-9]){0,31}"
#define ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
#define HEX4 "[0-9A-Fa-f]{1,4}"
// Letters of a URI (RFC 3986, appendix A).
#define UNRESERVED "[A-Za-z0-9._~!$&'()*+,;=-]"
#define PERCENT "%[0-9A-Fa-f]{2}"

/// A format, and the expression that all of a string has to fit; null: it says nothing of texts.
static const struct Format {
  const char *name, *expression;
} formats[] = {
    {"date", "^(" DATE "|" LEAP ")$"},
    {"time", "^" TIME "$"},
    {"date-time", "^(" DATE "|" LEAP ")T" TIME "$"},
    {"duration",
     "^P([0-9]{1,9}W|([0-9]{1,9}Y([0-9]{1,9}M([0-9]{1,9}D)?)?|[0-9]{1,9}M([0-9]{1,9}D)?|"
     "[0-9]{1,9}D)(T([0-9]{1,9}H([0-9]{1,9}M([0-9]{1,9}S)?)?|[0-9]{1,9}M([0-9]{1,9}S)?|"
     "[0-9]{1,9}S))?|T([0-9]{1,9}H([0-9]{1,9}M([0-9]{1,9}S)?)?|[0-9]{1,9}M([0-9]{1,9}S)?|"
     "[0-9]{1,9}S))$"},
    {"email", "^" ATOM "{1,32}(\\." ATOM "{1,15}){0,2}@(" LABEL "\\.){1,3}[A-Za-z]{2,63}$"},
    {"hostname", "^(" LABEL "\\.){0,3}" LABEL "$"},
    {"ipv4", "^(" BYTE "\\.){3}" BYTE "$"},
    {"ipv6",
     "^((" HEX4 ":){7}" HEX4 "|::(" HEX4 ":){0,6}" HEX4 "|(" HEX4 ":){1}(:" HEX4 "){1,6}|"
     "(" HEX4 ":){2}(:" HEX4 "){1,5}|(" HEX4 ":){3}(:" HEX4 "){1,4}|(" HEX4 ":){4}(:" HEX4
     "){1,3}|(" HEX4 ":){5}(:" HEX4 "){1,2}|(" HEX4 ":){6}:" HEX4 "|(" HEX4 ":){1,7}:|::)$"},
    {"uuid", "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"},
    {"uri", "^[A-Za-z][A-Za-z0-9+.-]{0,15}:(//(" LABEL "\\.){0,4}" LABEL "(:[0-9]{1,5})?"
            "(/(" UNRESERVED "|" PERCENT "|[:@/])*)?|(" UNRESERVED "|" PERCENT "|[:@])(" UNRESERVED
            "|" PERCENT "|[:@/])*)(\\?(" UNRESERVED "|" PERCENT "|[:@/?])*)?(#(" UNRESERVED
            "|" PERCENT "|[:@/?])*)?$"},
    {"password", nullptr},
    {"float", nullptr},
    {"double", nullptr},
};

const char *grammar::expressionOfFormat(Slice name, bool &isNote) {
  for (const Format &format : formats)
    if (name.is(format.name)) {
      isNote = !format.expression;
      return format.expression;
    }
  return nullptr;
}
