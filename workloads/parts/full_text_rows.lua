-- Rows of `full_text`, and the words that its queries search for.
--
-- Common words consist of open syllables; searched words don't, so that none is part of a common
-- word and LIKE can verify what an index should find.

local sql = require("parts.sql")

local rows = {}

local uniform, floor = sysbench.rand.uniform, math.floor

-- Searched words, and the percentage of pages or entries that contain them.
local PAGE_WORDS = { { "arrestwell", 10 }, { "businorth", 25 }, { "records", 40 },
  { "corpsward", 8 }, { "commission", 20 }, { "formsheet", 15 } }
local FIRST_NAMES = { "Hjalmar", "Kristof", "Birgitt", "Herbert", "Swanhild", "Gottlieb" }
local LAST_NAMES = { "Lindqvist", "Brandtner", "Schwartz", "Kjellberg", "Whitlock", "Marsh" }
local PLACES = { "northbridge", "springfield", "westminster", "oxbridgeshire" }

local CONSONANTS = { "b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z" }
local VOWELS = { "a", "e", "i", "o", "u" }

local known = {}

-- The common word of a number: as many syllables as make it unique, at least three, so that no
-- index omits it as too short.
local function word(number)
  local made = known[number]
  if not made then
    local syllables, left = {}, number
    repeat
      syllables[#syllables + 1] = CONSONANTS[left % 14 + 1] .. VOWELS[floor(left / 14) % 5 + 1]
      left = floor(left / 70)
    until left == 0 and #syllables >= 3
    made = table.concat(syllables)
    known[number] = made
  end
  return made
end

-- Common words are distributed as unequally as those of a language.
local function words(count)
  local made = {}
  for place = 1, count do
    made[place] = word(sysbench.rand.zipfian(1, sysbench.opt.words))
  end
  return made
end

local function page(id)
  local body = words(sysbench.opt.page_words)
  for _, asked in ipairs(PAGE_WORDS) do
    if uniform(1, 100) <= asked[2] then
      -- Several times, anywhere.
      for _ = 1, uniform(1, 12) do
        body[uniform(1, #body)] = asked[1]
      end
    end
  end
  return ("(%d, '%s', '%s')"):format(id, table.concat(words(6), " "), table.concat(body, " "))
end

-- One entry has the name that the fifth query searches; its middle initial is unique.
local function entry(id)
  local first, last = FIRST_NAMES[uniform(1, 6)], LAST_NAMES[uniform(1, 6)]
  local initial = string.char(uniform(65, 80))
  if id == floor(sysbench.opt.entries / 2) + 1 then
    first, initial, last = "Thorwald", "B", "Quentmark"
  end
  local details = words(12)
  details[uniform(1, #details)] = PLACES[uniform(1, 4)]
  return ("(%d, '%s %s %s', '%s')"):format(id, first, initial, last, table.concat(details, " "))
end

-- Fills a table with the rows of `name`, itself or one with its columns.
function rows.load(connection, name, table)
  local count = name == "text_page" and sysbench.opt.pages or sysbench.opt.entries
  local make = name == "text_page" and page or entry
  local columns = name == "text_page" and "(id, title, body)" or "(id, full_name, details)"
  sql.begin_rows(connection, ("%s %s"):format(table or name, columns))
  for id = 1, count do
    connection:bulk_insert_next(make(id))
  end
  connection:bulk_insert_done()
end

local function holds(columns, asked)
  return ("CONCAT(%s) LIKE '%%%s%%'"):format(columns, asked)
end

local PAGE, ENTRY = "title, ' ', body", "full_name, ' ', details"

local function any(asked)
  local parts = {}
  for place, one in ipairs(asked) do
    parts[place] = holds(PAGE, one)
  end
  return table.concat(parts, " OR ")
end

-- Each query, and a condition without an index that selects the same rows.
rows.ASKED = {
  { query = "arrestwell businorth records", truth = any { "arrestwell", "businorth", "records" } },
  { query = "corpsward commission formsheet",
    truth = any { "corpsward", "commission", "formsheet" } },
  { query = "+hjalmar +lindqvist +springfield", truth = holds(ENTRY, "hjalmar") .. " AND "
    .. holds(ENTRY, "lindqvist") .. " AND " .. holds(ENTRY, "springfield") },
  { query = "+hjalmar +lindqvist springfield",
    truth = holds(ENTRY, "hjalmar") .. " AND " .. holds(ENTRY, "lindqvist") },
  { query = '"Thorwald B Quentmark"', truth = "full_name = 'Thorwald B Quentmark'" },
}

return rows
