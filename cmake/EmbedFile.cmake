# Run by exechost_embed: INPUT -> OUTPUT.cpp and OUTPUT.hpp. Split, since a string literal has a
# length limit.
file(READ ${INPUT} text)
string(LENGTH "${text}" length)
set(pieces "")
set(offset 0)
while(offset LESS length)
  string(SUBSTRING "${text}" ${offset} 8000 piece)
  string(APPEND pieces "R\"__(${piece})__\"\n")
  math(EXPR offset "${offset} + 8000")
endwhile()
file(WRITE ${OUTPUT}.hpp "#pragma once\n#include <string_view>\nnamespace exechost::embedded {\nextern const std::string_view ${NAME};\n}\n")
file(WRITE ${OUTPUT}.cpp "#include \"embedded/${NAME}.hpp\"\nnamespace exechost::embedded {\nextern const std::string_view ${NAME};\nconst std::string_view ${NAME} =\n${pieces};\n}\n")
